// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/zip.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/diagnostic.h"
#include "formats/pt2/zip_builder.h"

namespace cormorant::pt2 {
namespace {

std::string problem_of(const std::string& file, bool verify_checksums = true) {
  try {
    Zip zip(share(file), "z.pt2", verify_checksums);
    for (const std::string& name : zip.names()) zip.read(name);
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostic().file, "z.pt2");
    EXPECT_FALSE(error.diagnostic().advice.empty());
    return error.diagnostic().problem;
  }
  return "";
}

TEST(Zip, StoredEntriesAreUsedWhereTheyLie) {
  const SharedBytes file = share(build_zip({{"a", "first"}, {"b/c", ""}, {"d", "last"}}));
  Zip zip(file, "z", true);
  EXPECT_EQ(zip.names(), (std::vector<std::string>{"a", "b/c", "d"}));
  EXPECT_EQ(zip.read("a").text(), "first");
  EXPECT_EQ(zip.read("b/c").text(), "");
  EXPECT_TRUE(zip.contains("d"));
  EXPECT_FALSE(zip.contains("e"));
  const SharedBytes last = zip.read("d");
  EXPECT_EQ(last.text(), "last");
  EXPECT_GE(last.bytes.data(), file.bytes.data());
  EXPECT_LT(last.bytes.data(), file.bytes.data() + file.bytes.size());
}

TEST(Zip, EntriesOutliveTheZip) {
  SharedBytes content;
  {
    Zip zip(share(build_zip({{"a", "mapped"}, {"b", "inflated", true}})), "z", true);
    content = zip.read("a");
    EXPECT_EQ(zip.read("b").text(), "inflated");
  }
  EXPECT_EQ(content.text(), "mapped");
}

TEST(Zip, DeflatedEntriesAreInflated) {
  const std::string text(100000, 'x');
  Zip zip(share(build_zip({{"a", text, true}, {"empty", "", true}})), "z", true);
  EXPECT_EQ(zip.read("a").text(), text);
  EXPECT_EQ(zip.read("empty").text(), "");
}

TEST(Zip, Zip64FieldsAreRead) {
  ZipItem big{.name = "big", .content = "content"};
  big.zip64 = true;
  Zip zip(share(build_zip({{"small", "s"}, big}, {.zip64 = true})), "z", true);
  EXPECT_EQ(zip.read("big").text(), "content");
  EXPECT_EQ(zip.read("small").text(), "s");
}

TEST(Zip, ACommentMayFollow) {
  Zip zip(share(build_zip({{"a", "1"}}, {.comment = "made by hand, PK\5\6 and all"})), "z", true);
  EXPECT_EQ(zip.read("a").text(), "1");
}

TEST(Zip, EveryTruncationIsAnInputError) {
  const std::string file = build_zip({{"a", "first"}, {"b", "second", true}}, {.zip64 = true});
  ASSERT_EQ(problem_of(file), "");
  for (std::size_t n = 0; n < file.size(); ++n) EXPECT_NE(problem_of(file.substr(0, n)), "") << n;
}

TEST(Zip, NoFlippedBitEscapes) {
  const std::string file = build_zip({{"a", "first"}, {"b", "second", true}}, {.zip64 = true});
  for (std::size_t i = 0; i < file.size() * 8; ++i) {
    std::string mutant = file;
    mutant[i / 8] = static_cast<char>(mutant[i / 8] ^ (1 << (i % 8)));
    static_cast<void>(problem_of(mutant, i % 16 < 8));  // anything but an InputError fails the test
  }
}

TEST(Zip, HostileArchivesAreRefused) {
  const ZipItem plain{.name = "a", .content = "first"};
  const auto with = [&](auto change) {
    ZipItem item{.name = "b", .content = "second"};
    change(item);
    return build_zip({plain, item, {.name = "c", .content = "third"}});
  };
  // Deflated 700 KB may well be 600 MB, and need not be inflated to be refused.
  const ZipItem bomb{.name = "bomb", .content = std::string(700000, 'x'), .method = 8, .size = 600 << 20};
  const struct {
    std::string file;
    std::string part;  // of the problem
  } cases[] = {
      {with([](ZipItem& item) { item.header_offset = 0; }), "two different names"},
      {with([](ZipItem& item) { item.size = item.compressed_size = 30; }), "overlap"},
      {with([](ZipItem& item) { item.header_offset = 1000000; }), "not where its directory says"},
      {with([](ZipItem& item) { item.header_offset = 3; }), "not where its directory says"},
      {with([](ZipItem& item) { item.size = item.compressed_size = 1000000; }), "outside the file"},
      {with([](ZipItem& item) {
         item.zip64 = true;
         item.header_offset = INT64_MAX;
       }),
       "not where its directory says"},
      {with([](ZipItem& item) {
         item.zip64 = true;
         item.size = item.compressed_size = INT64_MAX;
       }),
       "outside the file"},
      {with([](ZipItem& item) { item.size = 5; }), "two different sizes"},
      {with([](ZipItem& item) { item.checksum = 7; }), "checksum"},
      {with([](ZipItem& item) { item.flags = 1; }), "encrypted"},
      {with([](ZipItem& item) { item.method = 12; }), "unknown method 12"},
      {with([](ZipItem& item) { item.method = 8; }), "does not inflate"},
      {with([](ZipItem& item) {
         item.deflate = true;
         item.size = 5;
       }),
       "does not inflate"},
      {with([](ZipItem& item) {
         item.deflate = true;
         item.size = 7;
       }),
       "does not inflate"},
      {with([](ZipItem& item) {
         item.deflate = true;
         item.size = 1000000;
       }),
       "impossible size"},
      {with([](ZipItem& item) { item.name = "a"; }), "the same name"},
      {with([](ZipItem& item) { item.local_name = "z"; }), "two different names"},
      {build_zip({bomb}), "inflate to more than 512 MiB"},
      {build_zip({plain}, {.count = 2}), "too small for its entries"},
      {build_zip({plain, {.name = "b", .content = ""}}, {.count = 1}), "more entries than it declares"},
      {build_zip({plain}, {.directory_offset = 1000000}), "directory is outside"},
      {build_zip({plain}, {.zip64 = true, .directory_offset = INT64_MAX}), "directory is outside"},
      {build_zip({plain}, {.zip64 = true, .directory_size = INT64_MAX}), "directory is outside"},
      {build_zip({plain}, {.zip64 = true, .count = INT64_MAX}), "too small for its entries"},
      {build_zip({plain}, {.directory_offset = 0}), "directory is malformed"},
      {build_zip({plain}, {.disk = 1}), "several parts"},
      {build_zip({plain}) + "garbage", "no directory at its end"},
  };
  for (const auto& c : cases) {
    const std::string problem = problem_of(c.file);
    EXPECT_NE(problem.find(c.part), std::string::npos) << "expected: " << c.part << "\n     got: " << problem;
  }
}

TEST(MapFile, MissingEmptyAndSpecialFilesAreInputErrors) {
  const std::string empty = ::testing::TempDir() + "empty.pt2";
  std::ofstream(empty).close();
  for (const std::string& path : {std::string("/nowhere.pt2"), empty, ::testing::TempDir(), std::string("/dev/null")}) {
    EXPECT_THROW(map_file(path), InputError) << path;
  }
}

}  // namespace
}  // namespace cormorant::pt2
