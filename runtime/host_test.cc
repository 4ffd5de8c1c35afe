// SPDX-License-Identifier: Apache-2.0
#include "runtime/host.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/test_load.h"

namespace cormorant::test {
namespace {

using Buffers = std::vector<std::vector<std::byte>>;

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> result;
  for (const unsigned value : values) result.push_back(static_cast<std::byte>(value & 0xffU));
  return result;
}

testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" does not contain \"" << part << '"';
}

std::string refusal(std::span<const std::byte> file, const std::string& method = "forward") {
  try {
    const HostProgram loaded(file, kTable, "m.pte", method);
  } catch (const InputError& error) {
    return error.what();
  }
  return "loaded";
}

// What toy::every writes for an input whose bytes have this sum.
unsigned every_of(unsigned sum) {
  for (const char c : kWeights) sum += static_cast<unsigned char>(c);
  return sum + static_cast<unsigned>(-70000) + 3 - 1 + 3;
}

TEST(HostProgram, runs_bytes_to_bytes) {
  HostProgram loaded(TestProgram().file(), kTable);
  const auto expected = [](unsigned every) {
    return Buffers{bytes({2 * every, 2 * every, 2 * every}), bytes({every, every})};
  };
  const Buffers inputs = {bytes({1, 2, 3, 4})};
  EXPECT_EQ(loaded.run(inputs), expected(every_of(10)));
  EXPECT_EQ(loaded.run({}), expected(every_of(0)));  // zeros
}

TEST(HostProgram, refuses_inputs_that_do_not_fit) {
  HostProgram loaded(TestProgram().file(), kTable, "m.pte");
  const Buffers too_short = {bytes({1, 2, 3})};
  const Buffers too_many = {bytes({1, 2, 3, 4}), {}};
  EXPECT_THROW(loaded.run(too_short), InputError);
  EXPECT_THROW(loaded.run(too_many), InputError);
}

TEST(HostProgram, grows_its_state_as_the_program_needs) {
  TestProgram program;
  for (int i = 0; i < 300; ++i) program.call(1, program.args(1));
  const HostProgram loaded(program.file(), kTable);
  EXPECT_EQ(loaded.program().step_count(), 302U);
  EXPECT_GT(loaded.program().state_used(), 4096U);
}

TEST(HostProgram, names_all_unknown_operators_at_once) {
  TestProgram program;
  program.plan().operators[1]->name = "a::b";
  program.plan().operators.push_back(TestProgram::operator_of("a::c", ""));
  program.plan().operators.push_back(TestProgram::operator_of("a::b", "out"));
  const std::vector<std::byte> file = program.file();
  EXPECT_EQ(missing_operators(file, kTable), (std::vector<std::string>{"a::b.out", "a::c"}));
  EXPECT_TRUE(contains(refusal(file), "m.pte: the operator table lacks: a::b.out, a::c\n"));
}

TEST(HostProgram, names_instruction_operator_and_argument_at_fault) {
  TestProgram program;
  program.set(integer, planned({1}, 0));
  EXPECT_TRUE(contains(refusal(program.file()),
                       "m.pte: node 'toy::every.out', instruction 0, argument 3: an argument's type is not what the "
                       "operator's signature says (it is a tensor)\n"));
  program.args(0).resize(3);
  EXPECT_TRUE(contains(refusal(program.file()),
                       "m.pte: node 'toy::every.out', instruction 0, argument 3: the operator takes at least 4 "
                       "arguments, but the program gives 3\n"));
}

TEST(HostProgram, says_what_is_wrong_outside_of_instructions) {
  TestProgram program;
  EXPECT_TRUE(contains(refusal(program.file(), "other"), "m.pte: the program has no such method"));
  program.plan().inputs = {program.args(0)[integer]};
  EXPECT_TRUE(contains(refusal(program.file()), "m.pte: input or output 0: "));
  program.plan().non_const_buffer_sizes[1] = std::int64_t{1} << 40;
  EXPECT_TRUE(contains(refusal(program.file()), "m.pte: the program plans 1099511627776 bytes of memory 1"));
  EXPECT_TRUE(contains(refusal(bytes({1, 2, 3})), "m.pte: not a .pte program, or cut short"));
}

TEST(HostProgram, says_which_version_a_file_has) {
  std::vector<std::byte> file = TestProgram().file();
  file[7] = std::byte{'3'};  // of the identifier "ET12"
  EXPECT_TRUE(
      contains(refusal(file), "m.pte: the file has version ET13 of ExecuTorch's format, but only ET12 is supported\n"));
  file[4] = std::byte{'X'};
  EXPECT_TRUE(contains(refusal(file), "m.pte: not a .pte program, or cut short"));
}

TEST(HostProgram, says_what_segment_or_memory_is_missing) {
  TestProgram without_segments;
  without_segments.program.segments.clear();
  EXPECT_TRUE(contains(refusal(without_segments.file()), "m.pte: constant data is missing"));
  TestProgram unplanned;
  unplanned.tensor(input).allocation_info = nullptr;
  EXPECT_TRUE(contains(refusal(unplanned.file()),
                       "m.pte: node 'toy::every.out', instruction 0, argument 0: the tensor has neither a planned "
                       "address nor data in this file"));
  EXPECT_TRUE(contains(refusal(unplanned.file()), "alloc_graph_input"));
}

TEST(HostProgram, refuses_more_memory_than_any_program_needs) {
  TestProgram program;
  program.plan().non_const_buffer_sizes = {0, 64, std::int64_t{1} << 30};
  EXPECT_TRUE(
      contains(refusal(program.file()), "m.pte: the program plans 1073741824 bytes of memory 2: more than 1 GiB"));
  program.plan().non_const_buffer_sizes = {0, 64, -1};
  EXPECT_TRUE(contains(refusal(program.file()), "m.pte: the program plans -1 bytes of memory 2"));
}

TEST(HostProgram, names_the_delegates_of_a_program) {
  TestProgram program;
  program.plan().chains[0]->instructions[1]->instr_args.Set(schema::DelegateCallT());
  program.plan().delegates.push_back(std::make_unique<schema::BackendDelegateT>());
  program.plan().delegates[0]->id = "EthosUBackend";
  EXPECT_TRUE(contains(refusal(program.file()),
                       "m.pte: instruction 1: the program holds a delegate's blob; only plain "
                       "operators run here (EthosUBackend)\n"));
}

TEST(Explain, tells_a_boards_failure_in_terms_of_the_file) {
  const std::vector<std::byte> file = TestProgram().file();
  const Failure on_scratch{Error::scratch_too_small, 1, Failure::kNone, 4464, 0};
  EXPECT_EQ(explain(on_scratch, file, "forward").text(),
            "node 'toy::sum.out', instruction 1: a scratch tensor is smaller than the kernel requires: 4464 are "
            "required, but there are 0");
  const Failure on_arena{Error::arena_too_small, Failure::kNone, 2, 100, 64};
  EXPECT_EQ(explain(on_arena, file, "forward").text(),
            "memory 2: the arena is too small for the memory plan: 100 are required, but there are 64");
}

TEST(MissingOperators, are_none_in_what_is_no_program) { EXPECT_TRUE(missing_operators({}, kTable).empty()); }

}  // namespace
}  // namespace cormorant::test
