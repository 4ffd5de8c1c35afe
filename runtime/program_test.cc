// SPDX-License-Identifier: Apache-2.0
//
// What a sound program does, and the figures of errors; refuse_test.cc has the table of faults.
#include "runtime/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "formats/pte/reader.h"
#include "runtime/test_load.h"

namespace {
size_t refused_bytes = 0;  // a file of so many is not accepted; 0: all are
}
// In place of the runtime's own, which accepts all.
int cormorant_accept(const void* /*data*/, size_t bytes) {
  return refused_bytes != 0 && bytes == refused_bytes ? 0 : 1;
}

namespace cormorant::test {
namespace {

TEST(Load, asks_the_firmware_before_it_reads_anything) {
  std::vector<std::byte> file = TestProgram().file();
  refused_bytes = file.size();
  EXPECT_EQ(load(file).why.error, Error::refused);
  std::ranges::fill(file, std::byte{0});
  EXPECT_EQ(load(file).why.error, Error::refused);
  refused_bytes = 0;
  EXPECT_EQ(load(file).why.error, Error::bad_header);
}

// A program that ran before, and a file that is refused at some point: what is left must not be the old program's
// steps, whose memory the new one has overwritten.
TEST(Load, leaves_an_empty_program_after_a_failure) {
  const AlignedBytes good(TestProgram().file());
  const AlignedBytes damaged(std::vector<std::byte>(good.span().size(), std::byte{0}));
  const AlignedBytes arena(64);
  const AlignedBytes state(4096);
  const Region arenas[] = {region_of(arena.span())};
  const struct {
    std::span<const std::byte> file;
    std::size_t state_bytes;
    Error error;
  } rows[] = {{damaged.span(), 4096, Error::bad_header},
              {good.span(), 9, Error::state_too_small},
              {good.span(), 4096, Error::refused}};
  Program program;  // never loaded: empty from the beginning
  for (const auto& row : rows) {
    EXPECT_EQ(program.step_count(), 0U);
    EXPECT_EQ(program.input_count(), 0U);
    EXPECT_EQ(program.output_count(), 0U);
    EXPECT_EQ(program.input(0).data(), nullptr);
    EXPECT_EQ(program.output_quantization(0).scale, 0);
    EXPECT_STREQ(program.output_name(0), "");
    EXPECT_EQ(program.buffer_bytes(), 0U);
    EXPECT_EQ(program.missing_rows(), 0U);
    EXPECT_EQ(program.push_rows(nullptr, 1), Error::not_by_rows);
    program.reset();
    program.drop_rows();
    program.execute();

    const auto load = [&](std::span<const std::byte> file, std::size_t state_bytes) {
      return program.load({file.data(), file.size(), "forward", kTable, std::size(kTable)},
                          {{state.span().data(), state_bytes}, arenas, 1});
    };
    ASSERT_EQ(load(good.span(), 4096), Error::ok);
    ASSERT_NE(program.step_count(), 0U);
    refused_bytes = row.error == Error::refused ? good.span().size() : 0;
    EXPECT_EQ(load(row.file, row.state_bytes), row.error);
    refused_bytes = 0;
    EXPECT_EQ(program.step_count(), 0U);
    EXPECT_EQ(program.input_count(), 0U);
    EXPECT_EQ(program.c().steps, nullptr);
  }
}

TEST(Load, gives_the_kernel_every_argument) {
  const Loaded loaded = load(TestProgram().file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  EXPECT_EQ(loaded.why.error, Error::ok);
  const auto& f = last_read.fields;
  EXPECT_EQ(std::get<input>(f).data, loaded.arena.span().data());
  EXPECT_EQ(std::get<input>(f).rank, 2);
  EXPECT_EQ(std::get<input>(f).size(1), 4);
  EXPECT_EQ(std::get<input>(f).dtype, DType::i8);
  EXPECT_FALSE(std::get<input>(f).constant);
  EXPECT_FALSE(std::get<optional>(f).present());
  EXPECT_EQ(std::memcmp(std::get<constant>(f).data, kWeights.data(), 16), 0);
  EXPECT_TRUE(std::get<constant>(f).constant);
  EXPECT_EQ(std::get<integer>(f), -70000);
  EXPECT_EQ(std::get<floating>(f), 0.5F);
  EXPECT_TRUE(std::get<boolean>(f));
  EXPECT_EQ(std::get<list>(f).count, 3U);
  EXPECT_EQ(std::get<list>(f)[1], -1);
  EXPECT_EQ(std::get<dtype>(f), DType::i32);
  EXPECT_EQ(std::get<scratch>(f).bytes(), 8U);
  EXPECT_EQ(std::get<out>(f).data, loaded.arena.span().data() + 16);
}

TEST(Load, keeps_the_count_and_the_first_items_of_a_long_list) {
  TestProgram program;
  schema::IntListT items;
  for (int i = 10; i < 18; ++i) items.items.push_back(program.add(integer_of(i)));
  program.set(list, items);
  const Loaded loaded = load(program.file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  EXPECT_EQ(std::get<list>(last_read.fields).count, 8U);
  EXPECT_EQ(std::get<list>(last_read.fields)[5], 15);
}

TEST(Load, takes_an_optional_tensor_that_is_there) {
  TestProgram program;
  program.set(optional, planned({4}, 0));
  const Loaded loaded = load(program.file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  EXPECT_TRUE(std::get<optional>(last_read.fields).present());
}

TEST(Load, finds_operators_without_an_overload) {
  TestProgram program;
  program.plan().operators[1] = TestProgram::operator_of("toy::plain", "");
  EXPECT_EQ(load(program.file()).program.error(), Error::ok);
}

TEST(Load, needs_no_results_behind_the_outs) {
  TestProgram program;
  program.args(0).pop_back();
  EXPECT_EQ(load(program.file()).program.error(), Error::ok);
}

TEST(Load, takes_tensors_without_elements) {
  TestProgram program;
  program.set(input, planned({0, 5}, 64));  // just past the last byte is a place for nothing
  const Loaded loaded = load(program.file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  EXPECT_EQ(std::get<input>(last_read.fields).bytes(), 0U);
}

// The second instruction, toy::sum, as one of another signature: its result of 3 bytes and its input of 2 at places.
Error load_with_places(const char* op, std::uint32_t input_at, std::uint32_t result_at) {
  TestProgram program;
  program.plan().operators[1] = TestProgram::operator_of("toy::sum", op);
  program.place(out).memory_offset_low = input_at;
  const auto result = static_cast<std::size_t>(program.args(1)[1]);
  program.plan().values[result]->val.AsTensor()->allocation_info->memory_offset_low = result_at;
  return load(program.file()).program.error();
}

TEST(Load, permits_the_overlap_that_a_signature_offers) {
  struct Row {
    const char* op;
    std::uint32_t input_at, result_at;
    Error error;
  };
  const Row table[] = {
      {"out", 16, 18, Error::ok},
      {"out", 16, 13, Error::ok},
      {"out", 16, 16, Error::bad_memory},
      {"out", 16, 14, Error::bad_memory},
      {"in_place", 16, 16, Error::ok},
      {"in_place", 16, 18, Error::ok},
      {"in_place", 16, 15, Error::bad_memory},
      {"in_place", 16, 17, Error::bad_memory},
      {"covered", 16, 16, Error::ok},
      {"covered", 16, 14, Error::ok},
      {"covered", 16, 17, Error::bad_memory},
      {"scratch", 16, 18, Error::ok},
      {"scratch", 16, 16, Error::bad_memory},
      {"scratch", 16, 14, Error::bad_memory},
  };
  for (const Row& row : table) {
    EXPECT_EQ(load_with_places(row.op, row.input_at, row.result_at), row.error) << row.op << " " << row.result_at;
  }
}

TEST(Execute, skips_what_has_no_result) {
  TestProgram program;
  program.set(out, planned({0, 3}, 64));
  const Loaded loaded = load(program.file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  const std::byte before = loaded.arena.span()[32];  // scratch, which toy kernels fill
  for (std::byte& byte : loaded.program.value().input(0).as<std::byte>()) byte = std::byte{0x55};
  loaded.program.value().execute();
  EXPECT_EQ(loaded.arena.span()[32], before);
}

TEST(Load, picks_the_method_by_name) {
  TestProgram program;
  TestProgram other;
  other.plan().name = "backward";
  other.plan().chains[0]->instructions.resize(1);
  program.program.execution_plan.push_back(std::move(other.program.execution_plan[0]));
  const std::vector<std::byte> file = program.file();
  EXPECT_EQ(load(file).program.value().step_count(), 2U);
  EXPECT_EQ(load(file, 64, 4096, "backward").program.value().step_count(), 1U);
  EXPECT_EQ(load(file, 64, 4096, "back").program.error(), Error::no_such_method);
  EXPECT_EQ(load(file, 64, 4096, "").program.error(), Error::no_such_method);
}

TEST(Load, says_that_a_file_is_no_program) {
  EXPECT_EQ(load({}).program.error(), Error::bad_header);
  EXPECT_EQ(load(std::vector<std::byte>(1000)).program.error(), Error::bad_header);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST(Memory, of_the_file_must_be_aligned) {
  const std::vector<std::byte> file = TestProgram().file();
  for (const std::size_t shift : {1U, 2U, 4U, 8U}) {
    const AlignedBytes memory(file.size() + 16);
    std::copy(file.begin(), file.end(), memory.span().data() + shift);
    Failure why;
    const auto loaded = load_program(memory.span().subspan(shift, file.size()), "forward", kTable, {}, {}, why);
    EXPECT_EQ(loaded.error(), Error::misaligned);
  }
}

TEST(Memory, of_an_arena_must_be_aligned) {
  const AlignedBytes file(TestProgram().file());
  const AlignedBytes arena(80);
  const AlignedBytes state(4096);
  const Region arenas[] = {region_of(arena.span().subspan(8, 64))};
  Failure why;
  EXPECT_EQ(load_program(file.span(), "forward", kTable, state.span(), arenas, why).error(), Error::misaligned);
}

TEST(Memory, too_small_an_arena_is_told_with_both_figures) {
  const Loaded loaded = load(TestProgram().file(), 63);
  EXPECT_EQ(loaded.why.error, Error::arena_too_small);
  EXPECT_EQ(loaded.why.argument, 1);
  EXPECT_EQ(loaded.why.required, 64U);
  EXPECT_EQ(loaded.why.actual, 63U);
}

TEST(Memory, may_be_several_arenas) {
  TestProgram program;
  program.plan().non_const_buffer_sizes.push_back(8);
  program.place(scratch).memory_id = 2;
  program.place(scratch).memory_offset_low = 0;
  const AlignedBytes file(program.file());
  const AlignedBytes first(64);
  const AlignedBytes second(8);
  const AlignedBytes state(4096);
  const Region arenas[] = {region_of(first.span()), region_of(second.span())};
  Failure why;
  ASSERT_EQ(load_program(file.span(), "forward", kTable, state.span(), arenas, why).error(), Error::ok);
  EXPECT_EQ(std::get<scratch>(last_read.fields).data, second.span().data());
}

// Whatever the state's size: an error that says what the whole program needs, or a program that uses no more.
TEST(Memory, of_the_state_is_used_as_far_as_the_program_says) {
  const std::vector<std::byte> file = TestProgram().file();
  const std::size_t used = load(file).program.value().state_used();
  for (std::size_t size = 0; size < used; ++size) {
    const Loaded loaded = load(file, 64, size);
    ASSERT_EQ(loaded.why.error, Error::state_too_small) << size;
    EXPECT_EQ(loaded.why.actual, size);
    EXPECT_EQ(loaded.why.required, used) << size;
    EXPECT_EQ(loaded.why.instruction, Failure::kNone);
  }
  EXPECT_EQ(load(file, 64, used).program.error(), Error::ok);
}

TEST(Memory, of_the_state_is_shared_where_plans_leave_some) {
  const std::vector<std::byte> file = TestProgram().file();
  const std::size_t plans = load(file).program.value().state_used();
  wanted_share = 100;
  {
    const Loaded loaded = load(file);
    ASSERT_NE(shared, nullptr);
    const auto* at = static_cast<const std::byte*>(shared);
    const auto state = loaded.state.span();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0U);
    EXPECT_GE(at, state.data() + plans);
    EXPECT_LE(at + wanted_share, state.data() + state.size());
    const std::size_t used = loaded.program.value().state_used();
    EXPECT_GE(used, plans + wanted_share);
    for (std::size_t size = used; size < used + 16; ++size) {  // the reported figure suffices, wherever it ends
      EXPECT_EQ(load(file, 64, size).program.error(), Error::ok);
      EXPECT_NE(shared, nullptr) << size;
    }
  }
  for (std::size_t size = plans; size < plans + wanted_share; ++size) {
    EXPECT_EQ(load(file, 64, size).program.error(), Error::ok) << size;
    EXPECT_EQ(shared, nullptr) << size;
  }
  wanted_share = 0;
}

// A load that forgets to look whether its checks have passed: what it is given then.
struct Given {
  bool fails = false;
  const void* header = nullptr;
  std::size_t elements = 0;
  const void *shared = nullptr, *plan = nullptr, *made = nullptr;
} given;
Error load_carelessly(Call& call) {
  Every args;
  call.read_signature(args);
  const Tensor& weights = std::get<constant>(args.fields);
  call.require(!given.fails, Error::bad_value);
  given.header = call.packed<std::uint64_t>(weights, 16);
  given.elements = call.elements<std::uint32_t>(weights).size();
  given.shared = call.share(8);
  given.plan = call.make_plan<Every>();
  given.made = call.made_plan<Every>();
  return call.error();
}

TEST(Memory, and_constants_are_given_to_a_load_only_while_its_checks_pass) {
  constexpr Kernel kCareless = {"toy::every.out", load_carelessly, toy::execute<Every>};
  const Kernel* const table[] = {&kCareless, &kSum};
  const AlignedBytes arena(64), state(4096);
  const Region arenas[] = {region_of(arena.span())};
  const AlignedBytes file(TestProgram().file());
  Failure why;
  given = {};
  ASSERT_EQ(load_program(file.span(), "forward", table, state.span(), arenas, why).error(), Error::ok);
  EXPECT_NE(given.header, nullptr);
  EXPECT_EQ(given.elements, 4U);
  EXPECT_NE(given.shared, nullptr);
  EXPECT_NE(given.plan, nullptr);
  EXPECT_EQ(given.made, given.plan);

  given = {.fails = true};
  EXPECT_EQ(load_program(file.span(), "forward", table, state.span(), arenas, why).error(), Error::bad_value);
  EXPECT_EQ(given.header, nullptr);
  EXPECT_EQ(given.elements, 0U);
  EXPECT_EQ(given.shared, nullptr);
  EXPECT_EQ(given.plan, nullptr);
  EXPECT_EQ(given.made, nullptr);

  // A tensor in the arena may change after it was looked at.
  TestProgram written;
  written.set(constant, planned({4, 4}, 0));
  const AlignedBytes other(written.file());
  given = {};
  EXPECT_EQ(load_program(other.span(), "forward", table, state.span(), arenas, why).error(), Error::bad_constant);
  EXPECT_EQ(given.header, nullptr);
  EXPECT_EQ(given.elements, 0U);
  EXPECT_EQ(given.plan, nullptr);
}

// ---- execution ------------------------------------------------------------------------------------------------------

TEST(Execute, runs_the_steps_in_order) {
  const Loaded loaded = load(TestProgram().file());
  const Program& program = loaded.program.value();
  ASSERT_EQ(program.input_count(), 1U);
  ASSERT_EQ(program.output_count(), 2U);
  std::memcpy(program.input(0).data(), "\x01\x02\x03\x04", 4);
  program.execute();
  // Toy kernels write the sum of all they read, modulo 256: inputs, constants, the integer, the list.
  unsigned every = 1 + 2 + 3 + 4 + static_cast<unsigned>(-70000) + 3 - 1 + 3;
  for (const char c : kWeights) every += static_cast<unsigned char>(c);
  every &= 0xffU;
  EXPECT_EQ(program.output(1).as<std::uint8_t>()[1], every);
  EXPECT_EQ(program.output(0).bytes(), 3U);
  EXPECT_EQ(program.output(0).as<std::uint8_t>()[2], (2 * every) & 0xffU);
}

TEST(Execute, calls_a_profilers_hook_around_each_step) {
  const Loaded loaded = load(TestProgram().file());
  struct Hook {
    std::string log;
    void begin(std::size_t i) { log += "(" + std::to_string(i); }
    void end(std::size_t i) { log += std::to_string(i) + ")"; }
  } hook;
  loaded.program.value().execute(hook);
  EXPECT_EQ(hook.log, "(00)(11)");
}

TEST(Execute, has_no_inputs_and_outputs_but_those_of_the_program) {
  const Loaded loaded = load(TestProgram().file());
  EXPECT_FALSE(loaded.program.value().input(1));
  EXPECT_FALSE(loaded.program.value().output(2));
  cormorant_tensor tensor;
  EXPECT_EQ(cormorant_output(&loaded.program.value().c(), 2, &tensor), CORMORANT_BAD_INPUT);
}

// ---- scratch and state ----------------------------------------------------------------------------------------------

struct ScratchCase {
  const char* origin;  // the program's first value; null: a tensor, as in other compilers' programs
  std::uint32_t required;
  Error error;
};

TEST(Scratch, must_be_enough_and_in_our_own_programs_exact) {
  const ScratchCase cases[] = {
      {nullptr, 8, Error::ok},
      {nullptr, 9, Error::scratch_too_small},
      {nullptr, 7, Error::ok},
      {"cormorant cortex-m55 mve", 8, Error::ok},
      {"cormorant cortex-m55 mve", 9, Error::scratch_too_small},
      {"cormorant cortex-m55 mve", 7, Error::scratch_mismatch},
      {"cormorant cortex-m55 mve", 0, Error::scratch_mismatch},
      {"cormorant any any", 7, Error::ok},
      {"cormorant any any", 9, Error::scratch_too_small},
      {"another compiler", 7, Error::ok},
  };
  for (const ScratchCase& c : cases) {
    TestProgram program;
    if (c.origin != nullptr) {
      program.args(1) = {program.args(0)[out], program.add(planned({3}, 48))};  // makes room at index 0
      program.plan().outputs.clear();
      schema::StringT origin;
      origin.string_val = c.origin;
      program.plan().values[0]->val.Set(origin);
    }
    required_scratch = c.required;
    const Loaded loaded = load(program.file());
    required_scratch = 8;
    EXPECT_EQ(loaded.why.error, c.error) << (c.origin == nullptr ? "-" : c.origin) << " " << c.required;
    if (c.error == Error::ok) continue;
    EXPECT_EQ(loaded.why.instruction, 0);
    EXPECT_EQ(loaded.why.required, c.required);
    EXPECT_EQ(loaded.why.actual, 8U);
  }
}

TEST(State, has_its_initial_value_at_load_and_after_reset) {
  TestProgram program;
  program.initial_value("state!");
  schema::TensorT buffer = planned({6}, 56);
  buffer.data_buffer_idx = 1;
  program.args(1) = {program.args(0)[input], program.add(std::move(buffer))};

  const Loaded loaded = load(program.file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  const auto contents = [&] { return std::string(reinterpret_cast<const char*>(loaded.arena.span().data()) + 56, 6); };
  EXPECT_EQ(contents(), "state!");
  loaded.program.value().execute();
  EXPECT_EQ(contents(), std::string(6, '\0'));  // the sum of an input of zeros
  loaded.program.value().reset();
  EXPECT_EQ(contents(), "state!");
}

TEST(State, is_saved_and_restored_as_one_span) {
  TestProgram program;
  program.initial_value("state!");
  schema::TensorT buffer = planned({6}, 56);
  buffer.data_buffer_idx = 1;
  program.args(1) = {program.args(0)[input], program.add(std::move(buffer))};
  const Loaded loaded = load(program.file());
  ASSERT_EQ(loaded.program.error(), Error::ok);
  const Program& running = loaded.program.value();
  ASSERT_EQ(running.buffer_bytes(), 6U);

  // Two streams take turns: neither sees what the other has heard.
  std::array<char, 8> one = {'.', '.', '.', '.', '.', '.', '.', '.'}, other = one;
  running.save(one.data() + 1);
  EXPECT_EQ(std::string(one.begin(), one.end()), ".state!.");
  running.execute();
  running.save(other.data() + 1);
  running.restore(one.data() + 1);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(loaded.arena.span().data()) + 56, 6), "state!");
  running.restore(other.data() + 1);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(loaded.arena.span().data()) + 56, 6), std::string(6, '\0'));
}

// Where a size has 32 bits it would wrap, and save would write beyond what the caller has reserved.
TEST(State, of_more_bytes_than_can_be_counted_is_neither_saved_nor_restored) {
  constexpr std::int32_t kBytes = 1 << 24;
  TestProgram program;
  program.initial_value(std::string(kBytes, 'x'));
  program.plan().non_const_buffer_sizes[1] = 64 + kBytes;
  for (int i = 0; i < 256; ++i) {
    schema::TensorT buffer = planned({kBytes}, 64);
    buffer.data_buffer_idx = 1;
    program.add(std::move(buffer));
  }
  const AlignedBytes file(program.file()), arena(64 + kBytes);
  const Region region = region_of(arena.span());
  const auto opened = pte::ProgramView::open(file.span());
  ASSERT_TRUE(opened.ok());
  const auto method = opened.value().method(std::string_view("forward"));
  ASSERT_TRUE(method.ok());
  const cormorant_program loaded = {.data = file.span().data(),
                                    .bytes = file.span().size(),
                                    .arenas = &region,
                                    .arena_count = 1,
                                    .steps = nullptr,
                                    .step_count = 0,
                                    .state_used = 0,
                                    .method = method.value().position()};
  EXPECT_EQ(cormorant_buffer_bytes(&loaded), ~std::uint32_t{0});
  char one = '.';
  cormorant_save(&loaded, &one);
  cormorant_restore(&loaded, &one);
  EXPECT_EQ(one, '.');
}

TEST(State, is_none_in_programs_without_buffers) {
  EXPECT_EQ(load(TestProgram().file()).program.value().buffer_bytes(), 0U);
}

// ---- constants in RAM -----------------------------------------------------------------------------------------------

// The program's constant at 64, where bytes 64 to 96 are for constants.
TestProgram with_constant_in_ram() {
  TestProgram program;
  program.plan().non_const_buffer_sizes = {0, 128};
  program.initial_value(kWeights);
  schema::TensorT weights = planned({2, 8}, 64);
  weights.data_buffer_idx = 1;
  program.set(constant, std::move(weights));
  // Makes room for the first two values.
  program.args(1) = {program.args(0)[out], program.add(planned({3}, 48))};
  program.plan().outputs = {program.args(0)[out]};
  program.value(list).val.AsIntList()->items[0] = program.add(integer_of(3));
  schema::StringT origin;
  origin.string_val = "cormorant cortex-m55 mve constants";
  program.plan().values[0]->val.Set(origin);
  program.plan().values[1]->val.Set(planned({32}, 64));
  return program;
}

TEST(ConstantsInRam, are_copied_at_load_and_read_there) {
  const auto run = [](const Program& program) {
    program.execute();
    return program.output(program.output_count() - 1).as<std::uint8_t>()[0];
  };
  const std::uint8_t expected = run(load(TestProgram().file()).program.value());
  const Loaded loaded = load(with_constant_in_ram().file(), 128);
  ASSERT_EQ(loaded.why.error, Error::ok);
  const Tensor& weights = std::get<constant>(last_read.fields);
  EXPECT_TRUE(weights.constant);
  std::byte* const copy = loaded.arena.span().data() + 64;
  EXPECT_EQ(weights.data, copy);
  EXPECT_EQ(std::memcmp(copy, kWeights.data(), kWeights.size()), 0);
  EXPECT_EQ(run(loaded.program.value()), expected);
  copy[3] ^= std::byte{1};
  EXPECT_NE(run(loaded.program.value()), expected);
  loaded.program.value().reset();
  EXPECT_EQ(run(loaded.program.value()), expected);
}

// Kernels rely on what they have checked at load.
TEST(ConstantsInRam, are_shared_with_nothing_that_is_written) {
  const struct {
    const char* what;
    void (*change)(TestProgram&);
  } cases[] = {
      {"a result on a constant", [](auto& p) { p.place(out).memory_offset_low = 70; }},
      {"a result that reaches in", [](auto& p) { p.place(out).memory_offset_low = 63; }},
      {"a result that begins before the end", [](auto& p) { p.place(out).memory_offset_low = 95; }},
      {"scratch around all of them", [](auto& p) { p.set(scratch, planned({80}, 32)); }},
      {"an input", [](auto& p) { p.place(input).memory_offset_low = 80; }},
      {"a constant that reaches out", [](auto& p) { p.place(constant).memory_offset_low = 88; }},
      {"a constant without a value", [](auto& p) { p.tensor(constant).data_buffer_idx = 0; }},
      {"a stretch that has a value itself", [](auto& p) { p.plan().values[1]->val.AsTensor()->data_buffer_idx = 1; }},
      {"a stretch that is nowhere", [](auto& p) { p.plan().values[1]->val.AsTensor()->allocation_info = nullptr; }},
  };
  for (const auto& [what, change] : cases) {
    TestProgram program = with_constant_in_ram();
    change(program);
    EXPECT_EQ(load(program.file(), 128).why.error, Error::bad_constant) << what;
  }
}

TEST(ConstantsInRam, are_no_part_of_what_is_saved) {
  EXPECT_EQ(load(with_constant_in_ram().file(), 128).program.value().buffer_bytes(), 0U);
}

TEST(ConstantsInRam, are_not_what_state_is_reset_to) {
  TestProgram program = with_constant_in_ram();
  schema::TensorT state = planned({2, 8}, 56);  // reaches in; no instruction names it
  state.data_buffer_idx = 1;
  program.add(std::move(state));
  const Loaded loaded = load(program.file(), 128);
  ASSERT_EQ(loaded.why.error, Error::ok);
  EXPECT_EQ(std::memcmp(loaded.arena.span().data() + 64, kWeights.data(), kWeights.size()), 0);
}

// Dimensions of size 1 have no place in memory, so the file may put them anywhere.
TEST(Tensor, knows_its_order_whatever_dimensions_of_size_one_say) {
  const struct {
    std::vector<std::int32_t> sizes;
    std::vector<std::uint8_t> order;
    bool is_contiguous, is_channels_last;
  } cases[] = {
      {{2, 3, 4, 5}, {0, 1, 2, 3}, true, false},
      {{2, 3, 4, 5}, {0, 2, 3, 1}, false, true},
      {{2, 3, 4, 5}, {0, 2, 1, 3}, false, false},
      {{1, 1, 49, 10}, {0, 2, 1, 3}, true, true},
      {{1, 1, 49, 10}, {0, 3, 1, 2}, false, false},
      {{2, 3, 1, 1}, {3, 0, 2, 1}, true, true},
      {{2, 3, 1, 1}, {1, 0, 2, 3}, false, false},
      {{2, 3, 1, 5}, {0, 1, 2, 3}, true, false},
      {{2, 0, 4, 5}, {0, 2, 3, 1}, false, true},
      {{1, 1, 1, 1}, {3, 2, 1, 0}, true, true},
      {{7}, {0}, true, false},
      {{}, {}, true, false},
      {{2, 1, 3}, {1, 0, 2}, true, false},
      {{2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5}, true, false},
      {{2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 5, 4}, false, false},
  };
  for (const auto& c : cases) {
    const Tensor tensor = {.data = nullptr,
                           .sizes = c.sizes.data(),
                           .dim_order = c.order.data(),
                           .rank = static_cast<std::uint8_t>(c.sizes.size())};
    EXPECT_EQ(tensor.is_contiguous(), c.is_contiguous) << testing::PrintToString(c.sizes);
    EXPECT_EQ(tensor.is_channels_last(), c.is_channels_last) << testing::PrintToString(c.sizes);
  }
}

}  // namespace
}  // namespace cormorant::test
