// SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's own files, read by us; the figures come from ExecuTorch's Python deserializer. Then the same files
// damaged in many ways: an error is fine, a different result is fine, an access outside is not (the sanitizers of the
// debug build watch).
#include "formats/pte/reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "formats/pte/read_all.h"

namespace cormorant::pte {
namespace {

AlignedCopy fixture(const std::string& name) {
  std::ifstream file(std::string(CORMORANT_SOURCE_DIR) + "/tests/executorch/" + name + ".pte", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_FALSE(bytes.empty()) << name;
  return AlignedCopy(std::as_bytes(std::span(bytes)));
}

struct Expected {
  const char* name;
  std::uint32_t flatbuffer_bytes, values;
  std::vector<std::string> operators;
  std::vector<std::uint32_t> ops;
  std::int64_t arena;
  std::int32_t input, output;
  std::vector<std::int32_t> input_sizes;
  std::vector<std::uint8_t> input_order;
  std::int64_t integers, integer_sum, int_lists, int_list_items, int_list_sum;
  std::int64_t tensors, planned, constants, offset_sum, tensor_bytes, dim_order_sum, args, arg_sum;
  std::vector<double> floats;
};

const Expected kFiles[] = {
    {"ds_cnn",
     14184,
     276,
     {"quantize_per_tensor", "quantized_depthwise_conv2d", "quantized_conv2d", "pad", "quantized_avg_pool2d",
      "quantized_linear", "dequantize_per_tensor"},
     {0, 1, 1, 2, 1, 2, 1, 2, 1, 2, 3, 4, 5, 6},
     20464,
     84,
     270,
     {1, 1, 49, 10},
     {0, 2, 1, 3},
     128,
     3670852661,
     34,
     70,
     2107832421,
     110,
     26,
     84,
     232000,
     165038,
     595,
     186,
     28677,
     {0.007796098943799734, 0.0007269610650837421}},
    {"deep_autoencoder",
     7736,
     153,
     {"quantize_per_tensor", "quantized_linear", "dequantize_per_tensor"},
     {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2},
     3200,
     30,
     147,
     {1, 640},
     {0, 1},
     78,
     14222037109,
     20,
     20,
     14222037115,
     43,
     13,
     30,
     13056,
     285000,
     66,
     146,
     11562,
     {0.003906258847564459, 0.0010054924059659243}},
    {"mobilenet_v1_025",
     35000,
     704,
     {"quantize_per_tensor", "quantized_conv2d", "quantized_depthwise_conv2d", "quantized_avg_pool2d",
      "quantized_linear", "dequantize_per_tensor"},
     {0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 3, 4, 5},
     138240,
     246,
     698,
     {1, 3, 96, 96},
     {0, 2, 3, 1},
     307,
     3000154986,
     86,
     170,
     1926413547,
     307,
     61,
     246,
     2273776,
     931754,
     1597,
     458,
     184658,
     {0.003919218201190233, 6.823213334428146e-05}},
    {"resnet8",
     14672,
     291,
     {"quantize_per_tensor", "quantized_conv2d", "quantized_add", "quantized_avg_pool2d", "quantized_linear",
      "dequantize_per_tensor"},
     {0, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2, 3, 4, 5},
     49728,
     78,
     285,
     {1, 3, 32, 32},
     {0, 2, 3, 1},
     147,
     15919049652,
     32,
     62,
     1777634208,
     106,
     28,
     78,
     557056,
     300450,
     604,
     220,
     35843,
     {0.00391900260001421, 0.0008745442028157413}},
};

TEST(PteReader, ReadsExecutorchFilesAsExecutorchDoes) {
  for (const Expected& expected : kFiles) {
    SCOPED_TRACE(expected.name);
    const AlignedCopy file = fixture(expected.name);
    const auto program = ProgramView::open(file.bytes());
    ASSERT_TRUE(program.ok()) << describe(program.error());
    ASSERT_EQ(program.value().method_count(), 1U);
    EXPECT_EQ(program.value().flatbuffer_bytes(), expected.flatbuffer_bytes);
    const auto found = program.value().method("forward");
    ASSERT_TRUE(found.ok()) << describe(found.error());
    const MethodView& method = found.value();
    EXPECT_EQ(method.name().value(), "forward");
    EXPECT_EQ(method.value_count(), expected.values);
    EXPECT_EQ(method.delegate_count().value(), 0U);

    ASSERT_EQ(method.operator_count(), expected.operators.size());
    for (std::uint32_t i = 0; i < method.operator_count(); ++i) {
      EXPECT_EQ(method.operator_at(i).value().name, "cortex_m::" + expected.operators[i]);
      EXPECT_EQ(method.operator_at(i).value().overload, "out");
    }
    ASSERT_EQ(method.memory_sizes().size(), 2U);
    EXPECT_EQ(method.memory_sizes()[1], expected.arena);
    ASSERT_EQ(method.inputs().value().size(), 1U);
    EXPECT_EQ(method.inputs().value()[0], expected.input);
    ASSERT_EQ(method.outputs().value().size(), 1U);
    EXPECT_EQ(method.outputs().value()[0], expected.output);
    const auto input = method.tensor(expected.input);
    ASSERT_TRUE(input.ok()) << describe(input.error());
    EXPECT_EQ(input.value().dtype, DType::f32);
    EXPECT_TRUE(std::ranges::equal(input.value().sizes, expected.input_sizes));
    EXPECT_TRUE(std::ranges::equal(input.value().dim_order, expected.input_order));
    EXPECT_EQ(input.value().memory_id, 1U);
    EXPECT_EQ(input.value().offset, 0U);
  }
}

TEST(PteReader, ReadsEveryValueOfExecutorchFiles) {
  for (const Expected& expected : kFiles) {
    SCOPED_TRACE(expected.name);
    const Summary summary = ReadAll::of(fixture(expected.name).bytes());
    EXPECT_EQ(summary.first_error, Error::no_such_method);  // the one that is asked for on purpose, and no other
    EXPECT_EQ(summary.ops, expected.ops);
    EXPECT_EQ(summary.args, expected.args);
    EXPECT_EQ(summary.arg_sum, expected.arg_sum);
    EXPECT_EQ(summary.integers, expected.integers);
    EXPECT_EQ(summary.integer_sum, expected.integer_sum);
    EXPECT_EQ(summary.int_lists, expected.int_lists);
    EXPECT_EQ(summary.int_list_items, expected.int_list_items);
    EXPECT_EQ(summary.int_list_sum, expected.int_list_sum);
    EXPECT_EQ(summary.tensors, expected.tensors);
    EXPECT_EQ(summary.planned, expected.planned);
    EXPECT_EQ(summary.constants, expected.constants);
    EXPECT_EQ(summary.offset_sum, expected.offset_sum);
    EXPECT_EQ(summary.tensor_bytes, expected.tensor_bytes);
    EXPECT_EQ(summary.dim_order_sum, expected.dim_order_sum);
    EXPECT_EQ(summary.floats, expected.floats);
  }
}

TEST(PteReader, FindsConstantsInTheirSegment) {
  const AlignedCopy file = fixture("ds_cnn");
  const auto program = ProgramView::open(file.bytes()).value();
  const auto weight = program.method("forward").value().tensor(46).value();
  EXPECT_EQ(weight.bytes, 4096U);
  EXPECT_EQ(weight.data_index, 29U);
  const auto data = program.constant(weight.data_index, weight.bytes);
  ASSERT_TRUE(data.ok());
  const std::uint8_t expected[] = {37, 255, 229, 34, 199, 126, 111, 60};
  EXPECT_EQ(std::memcmp(data.value().data(), expected, sizeof(expected)), 0);
  EXPECT_EQ(program.constant(0, 0).error(), Error::bad_constant);
  EXPECT_EQ(program.constant(53, 0).error(), Error::bad_constant);
  EXPECT_EQ(program.constant(29, 36192).error(), Error::bad_constant);
  EXPECT_EQ(program.initial_value(1, 4).error(), Error::bad_constant);
}

TEST(PteReader, AskingForTheWrongThingIsAnError) {
  const AlignedCopy file = fixture("ds_cnn");
  const auto program = ProgramView::open(file.bytes()).value();
  EXPECT_EQ(program.method(1).error(), Error::no_such_method);
  EXPECT_EQ(program.method("Forward").error(), Error::no_such_method);
  const auto method = program.method(0).value();
  EXPECT_EQ(method.integer(0).error(), Error::bad_value);  // a tensor
  EXPECT_EQ(method.tensor(88).error(), Error::bad_value);  // an integer
  EXPECT_EQ(method.boolean(88).error(), Error::bad_value);
  EXPECT_EQ(method.floating(88).error(), Error::bad_value);
  EXPECT_EQ(method.string(88).error(), Error::bad_value);
  EXPECT_EQ(method.int_list(88).error(), Error::bad_value);
  EXPECT_EQ(method.tensor_name(88).error(), Error::bad_value);
  for (const std::int32_t index : {-1, 276, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_EQ(method.tensor(index).error(), Error::bad_structure) << index;
    EXPECT_EQ(method.kind(index).error(), Error::bad_structure) << index;
  }
  EXPECT_EQ(method.instruction(14).error(), Error::bad_structure);
  EXPECT_EQ(method.operator_at(7).error(), Error::bad_structure);
}

TEST(PteReader, RefusesFilesThatAreNotPrograms) {
  const AlignedCopy good = fixture("ds_cnn");
  const auto with = [&](std::size_t at, const char* text) {
    AlignedCopy file(good.bytes());
    std::memcpy(file.bytes().data() + at, text, std::strlen(text));
    return ProgramView::open(file.bytes()).error();
  };
  EXPECT_EQ(with(4, "ET11"), Error::bad_header);
  EXPECT_EQ(with(4, "BP08"), Error::bad_header);
  EXPECT_EQ(with(18, "\x7f"), Error::bad_header);  // the flatbuffer longer than the file
  EXPECT_EQ(with(26, "\x7f"), Error::bad_header);  // segments past its end
  EXPECT_EQ(with(34, "\x7f"), Error::bad_header);  // more data than there is
  EXPECT_EQ(ProgramView::open({}).error(), Error::bad_header);
  EXPECT_EQ(ProgramView::open(good.bytes().first(63)).error(), Error::bad_header);
  EXPECT_EQ(ProgramView::open(good.bytes().subspan(8)).error(), Error::misaligned);
}

TEST(PteReader, SurvivesTruncationAtEveryLength) {
  const AlignedCopy file = fixture("ds_cnn");
  for (std::size_t size = 0; size < file.bytes().size(); size += size < 14300 ? 1 : 97) {
    const AlignedCopy cut(file.bytes().first(size));
    EXPECT_EQ(ProgramView::open(cut.bytes()).error(), Error::bad_header) << size;
  }
}

template <class T>
T load_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <class T>
void store_at(std::span<std::byte> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Constants are taken out of the root table, because without its segments the file would not even open.
AlignedCopy without_segments(const std::string& name) {
  AlignedCopy file = fixture(name);
  const auto root = load_at<std::uint32_t>(file.bytes(), 0);
  const auto vtable = root - load_at<std::uint32_t>(file.bytes(), root);
  store_at<std::uint16_t>(file.bytes(), vtable + 14, 0);  // constant_segment
  std::memset(file.bytes().data() + 24, 0, 16);           // no segments
  return file;
}

// As if the header were honest about a shorter flatbuffer: every structure in turn ends too early.
TEST(PteReader, SurvivesTruncatedFlatbuffers) {
  const AlignedCopy file = without_segments("deep_autoencoder");
  int opened = 0;
  for (std::uint64_t size = 64; size < 7736; ++size) {
    const AlignedCopy cut(file.bytes().first(size));
    store_at(cut.bytes(), 16, size);
    opened += ProgramView::open(cut.bytes()).ok() ? 1 : 0;
    ReadAll::of(cut.bytes());
  }
  EXPECT_GT(opened, 7000);
}

// Tables share vtables, which mostly stand after them, so that cutting a file off rarely leaves a table that ends in
// the middle of a field. Here an integer's table is moved to the file's end, whole and with less and less of its
// number.
TEST(PteReader, RefusesATableThatEndsInTheMiddleOfAField) {
  const AlignedCopy file = without_segments("deep_autoencoder");
  const std::span<const std::byte> flat = file.bytes().first(7736);
  // With `left` bytes of the number of the table that `offset` leads to, and something added to it.
  const auto moved = [&](std::size_t offset, std::size_t left, std::uint64_t more) {
    const std::size_t table = offset + load_at<std::uint32_t>(flat, offset);
    const auto vtable = static_cast<std::uint32_t>(table) - load_at<std::uint32_t>(flat, table);  // on either side
    const auto distance = load_at<std::uint16_t>(flat, vtable + 4);
    std::vector<std::byte> bytes(flat.begin(), flat.end());
    bytes.insert(bytes.end(), flat.begin() + static_cast<std::ptrdiff_t>(table),
                 flat.begin() + static_cast<std::ptrdiff_t>(table + distance + 8));
    store_at(bytes, flat.size() + distance, load_at<std::uint64_t>(bytes, flat.size() + distance) + more);
    bytes.resize(flat.size() + distance + left);
    store_at(bytes, flat.size(), static_cast<std::uint32_t>(flat.size() - vtable));
    store_at(bytes, offset, static_cast<std::uint32_t>(flat.size() - offset));
    store_at(bytes, 16, std::uint64_t{bytes.size()});
    return ReadAll::of(AlignedCopy(bytes).bytes());
  };
  // Whether it may be an offset to a table of one field; of these some are numbers.
  const auto may_lead_to_a_number = [&](std::size_t offset) {
    const std::uint64_t table = offset + std::uint64_t{load_at<std::uint32_t>(flat, offset)};
    if (table == offset || table % 4 != 0 || table + 16 > flat.size()) return false;
    const auto vtable = static_cast<std::uint32_t>(table) - load_at<std::uint32_t>(flat, table);
    if (vtable % 2 != 0 || vtable + std::uint64_t{6} > flat.size()) return false;
    return load_at<std::uint16_t>(flat, vtable) == 6 && load_at<std::uint16_t>(flat, vtable + 4) == 4;
  };
  const AlignedCopy whole(flat);
  const Summary before = ReadAll::of(whole.bytes());
  int numbers = 0;
  for (std::size_t offset = 64; offset + 4 <= flat.size() && numbers < 3; offset += 4) {
    if (!may_lead_to_a_number(offset) || moved(offset, 8, 1).integer_sum != before.integer_sum + 1) continue;
    ++numbers;
    for (std::size_t left = 0; left < 8; ++left)
      EXPECT_EQ(moved(offset, left, 0).integers, before.integers - 1) << left;
  }
  EXPECT_EQ(numbers, 3);
}

TEST(PteReader, SurvivesEveryByteChanged) {
  const AlignedCopy file = fixture("deep_autoencoder");
  // Only the flatbuffer and its header: constants are never interpreted.
  AlignedCopy work(file.bytes());
  for (std::size_t at = 0; at < 7736; ++at) {
    const std::byte kept = work.bytes()[at];
    work.bytes()[at] ^= std::array{std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}[at % 3];
    ReadAll::of(work.bytes());
    work.bytes()[at] = kept;
  }
}

TEST(PteReader, SurvivesThousandsOfMutations) {
  const AlignedCopy file = fixture("ds_cnn");
  constexpr std::uint32_t kFlatbuffer = 14184;
  const std::uint32_t interesting[] = {0,    1,      2,      4,      7,          0x7f,       0x80,
                                       0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
  std::mt19937 random(20240229);
  int opened = 0, damaged = 0;
  for (int round = 0; round < 3000; ++round) {
    const AlignedCopy work(file.bytes());
    std::byte* const base = work.bytes().data();
    for (unsigned change = 0; change <= random() % 8; ++change) {
      const std::size_t at = 8 + random() % (kFlatbuffer - 8);
      switch (random() % 3) {
        case 0:
          base[at] = static_cast<std::byte>(random());
          break;
        case 1:
          std::memcpy(base + at / 4 * 4, &interesting[random() % std::size(interesting)], 4);
          break;
        default:
          std::memmove(base + at / 4 * 4, base + random() % (kFlatbuffer - 4) / 4 * 4, 4);
      }
    }
    opened += ProgramView::open(work.bytes()).ok() ? 1 : 0;
    damaged += ReadAll::of(work.bytes()).first_error != Error::no_such_method ? 1 : 0;
  }
  EXPECT_GT(opened, 2400);   // the mutations get past the entrance
  EXPECT_GT(damaged, 1000);  // and do harm
}

}  // namespace
}  // namespace cormorant::pte
