// SPDX-License-Identifier: Apache-2.0
//
// The part of QEMU's plugin interface, version 1, that the counter uses. Debian does not package QEMU's own header, and
// an interface of a dozen C functions is quickly declared; QEMU resolves them when it loads the plugin.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;
struct qemu_plugin_tb;    // a block of guest code, while it is being translated
struct qemu_plugin_insn;  // one instruction of it
struct qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

// Called when a block is translated, which is the time to attach counters to it.
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, qemu_plugin_tb*));
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, std::size_t index);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* insn);
const void* qemu_plugin_insn_data(const qemu_plugin_insn* insn);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn* insn);

// Each time the block is entered, or the instruction executed: *counter += amount, in the translated code itself.
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* tb, qemu_plugin_op op, void* counter,
                                              std::uint64_t amount);
void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn* insn, qemu_plugin_op op, void* counter,
                                                std::uint64_t amount);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* insn, void (*callback)(unsigned vcpu, void* data),
                                            qemu_plugin_cb_flags flags, void* data);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void* data), void* data);

// What a plugin exports.
extern __attribute__((visibility("default"))) int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                                               char** argv);
}
