// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "base/diagnostic.h"

namespace cormorant {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path fresh_folder() {
  fs::path folder = fs::path(testing::TempDir()) / "output_file_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(OutputFile, ReplacesAndKeepsModeAndLinks) {
  const fs::path folder = fresh_folder();
  write_output(folder / "a", "one");
  fs::permissions(folder / "a", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", folder / "link");
  write_output(folder / "link", "two");
  EXPECT_EQ(content(folder / "a"), "two");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(fs::status(folder / "a").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files_in(folder), 2U);
}

// A limit on the size of files stands for a full disk: write() fails half-way.
TEST(OutputFile, WhatWasThereOutlivesAFullDisk) {
  const fs::path folder = fresh_folder();
  write_output(folder / "a", "good");
  rlimit known = {};
  getrlimit(RLIMIT_FSIZE, &known);
  const rlimit small = {4096, known.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    write_output(folder / "a", std::string(100'000, 'x'));
  } catch (const InputError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &known);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_EQ(content(folder / "a"), "good");
  EXPECT_EQ(files_in(folder), 1U);
}

TEST(OutputFile, SaysWhyAFileCannotBeWritten) {
  const fs::path folder = fresh_folder();
  const auto why = [](auto write) {
    try {
      write();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(why([&] { require_writable(folder / "none" / "a"); }), "");  // it would be made
  EXPECT_NE(why([&] { require_writable(folder); }).find("Is a directory"), std::string::npos);
  EXPECT_EQ(why([&] { require_writable(folder / "new"); }), "");
  EXPECT_EQ(files_in(folder), 0U);
  write_output(folder / "file", "x");
  EXPECT_NE(why([&] { write_output(folder / "file" / "a", "x"); }).find("Not a directory"), std::string::npos);
  EXPECT_NE(why([&] { require_writable(folder / "file" / "a"); }).find("Not a directory"), std::string::npos);
}

TEST(OutputFile, MakesTheFoldersThatItNeeds) {
  const fs::path folder = fresh_folder();
  write_output(folder / "new" / "deep" / "a", "x");
  EXPECT_EQ(fs::file_size(folder / "new" / "deep" / "a"), 1U);
}

}  // namespace
}  // namespace cormorant
