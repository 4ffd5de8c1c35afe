// SPDX-License-Identifier: Apache-2.0
//
// The part of QEMU's plugin interface that the counter uses, in two versions: 1 (QEMU 6.1 to 8.2) and 3 (QEMU 9.1 and
// newer). Debian does not package QEMU's own header, and an interface of a dozen C functions is quickly declared; QEMU
// resolves them when it loads the plugin. Functions of one version only are weak: null where QEMU has the other.
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
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn* insn);

// The instruction's bytes: version 1 returns where they are, version 3 copies them. To be called as one of these types.
void qemu_plugin_insn_data();
using qemu_plugin_insn_data_1 = const void*(const qemu_plugin_insn* insn);
using qemu_plugin_insn_data_3 = std::size_t(const qemu_plugin_insn* insn, void* to, std::size_t bytes);

// Version 1. Each time the block is entered, or the instruction executed: *counter += amount, in the translated code
// itself.
[[gnu::weak]] void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* tb, qemu_plugin_op op, void* counter,
                                                            std::uint64_t amount);
[[gnu::weak]] void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn* insn, qemu_plugin_op op, void* counter,
                                                              std::uint64_t amount);

// Version 3: the same for a counter in an array that QEMU keeps, with one entry per CPU.
struct qemu_plugin_scoreboard;
struct qemu_plugin_u64 {
  qemu_plugin_scoreboard* score;
  std::size_t offset;  // of the counter in an entry
};
[[gnu::weak]] qemu_plugin_scoreboard* qemu_plugin_scoreboard_new(std::size_t entry_bytes);
[[gnu::weak]] std::uint64_t qemu_plugin_u64_get(qemu_plugin_u64 counter, unsigned vcpu);
[[gnu::weak]] void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(qemu_plugin_tb* tb, qemu_plugin_op op,
                                                                     qemu_plugin_u64 counter, std::uint64_t amount);
[[gnu::weak]] void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(qemu_plugin_insn* insn, qemu_plugin_op op,
                                                                       qemu_plugin_u64 counter, std::uint64_t amount);

void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* insn, void (*callback)(unsigned vcpu, void* data),
                                            qemu_plugin_cb_flags flags, void* data);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void* data), void* data);

// What a plugin exports.
extern __attribute__((visibility("default"))) int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                                               char** argv);
}
