// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/number_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace headway::trace::kineto {
namespace {

std::string Padded(std::string_view text) { return std::string(text) + std::string(16, ' '); }

struct MicrosCase {
  const char* text;
  int64_t nanos;
};

// The third digit behind the point is a nanosecond; further digits round to nearest.
TEST(NumberText, MicrosecondsBecomeWholeNanoseconds) {
  const MicrosCase cases[] = {
      {"0", 0},
      {"7", 7'000},
      {"12.5", 12'500},
      {"0.001", 1},
      {"1712195495519806.264", 0},  // sixteen digits before the point: see below
      {"5104716628960.926", 5'104'716'628'960'926},
      {"999999999999999.999", 999'999'999'999'999'999},
      {"1.2344", 1'234},
      {"1.2345", 1'235},
      {"0.00049999", 0},
      {"0.0005", 1},
      {"3.99999999", 4'000},
  };
  for (const MicrosCase& c : cases) {
    const std::string text = Padded(c.text);
    const char* p = text.data();
    int64_t nanos = 0;
    bool fraction = false;
    const NumberForm form = ReadPlainMicros(&p, &nanos, &fraction);
    if (std::string_view(c.text) == "1712195495519806.264") {
      EXPECT_EQ(form, NumberForm::kOther);
      continue;
    }
    ASSERT_EQ(form, NumberForm::kPlain) << c.text;
    EXPECT_EQ(nanos, c.nanos) << c.text;
    EXPECT_EQ(p - text.data(), static_cast<std::ptrdiff_t>(std::string_view(c.text).size())) << c.text;
    EXPECT_EQ(fraction, std::string_view(c.text).find('.') != std::string_view::npos);
    int64_t slow = 0;
    ASSERT_TRUE(ParseDecimal(c.text, 3, &slow));
    EXPECT_EQ(slow, c.nanos) << c.text;
  }
}

TEST(NumberText, OtherFormsAreLeftToTheSlowWay) {
  for (const char* text : {"-5", "1e3", "\"12\"", "NaN", "1.5e3", "1.", "123456789012345678", "0.123456789", "null"}) {
    const std::string padded = Padded(text);
    const char* p = padded.data();
    int64_t nanos = 0;
    bool fraction = false;
    EXPECT_EQ(ReadPlainMicros(&p, &nanos, &fraction), NumberForm::kOther) << text;
    EXPECT_EQ(p, padded.data()) << text;
  }
}

struct DecimalCase {
  const char* text;
  int scale;
  bool good;
  int64_t value;
};

TEST(NumberText, AnyDecimal) {
  const DecimalCase cases[] = {
      {"1712195495519806.264", 3, true, 1'712'195'495'519'806'264},
      {"1.712195495519806264e15", 3, true, 1'712'195'495'519'806'264},
      {"-2.5", 0, true, -3},  // half away from zero
      {"2.4", 0, true, 2},
      {"-7", 3, true, -7'000},
      {"+7", 0, true, 7},
      {"1E+2", 0, true, 100},
      {"12e-1", 3, true, 1'200},
      {"1e-400", 3, true, 0},
      {"0.0000", 3, true, 0},
      {"007", 0, true, 7},
      {"9223372036854775807", 0, true, 9'223'372'036'854'775'807},
      {"9223372036854775808", 0, false, 0},
      {"10159970886766084423", 0, false, 0},
      {"1e400", 0, false, 0},
      {"99999999999999999999999999", 0, false, 0},
      {"", 0, false, 0},
      {"-", 0, false, 0},
      {".", 0, false, 0},
      {"1e", 0, false, 0},
      {"1e+", 0, false, 0},
      {"NaN", 3, false, 0},
      {"12 ", 0, false, 0},
      {"0x10", 0, false, 0},
  };
  for (const DecimalCase& c : cases) {
    int64_t value = -1;
    EXPECT_EQ(ParseDecimal(c.text, c.scale, &value), c.good) << c.text;
    if (c.good) {
      EXPECT_EQ(value, c.value) << c.text;
    }
  }
}

TEST(NumberText, TheQuickWayAgreesWithTheSlowOne) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (uint64_t n = 1 + random() % 15; n > 0; --n) text += static_cast<char>('0' + random() % 10);
    const bool point = random() % 2 == 0;
    if (point) {
      text += '.';
      for (uint64_t n = 1 + random() % 8; n > 0; --n) text += static_cast<char>('0' + random() % 10);
    }
    const std::string padded = Padded(text + (random() % 2 == 0 ? "," : "\n"));
    const char* p = padded.data();
    int64_t quick = 0;
    int64_t slow = 0;
    bool fraction = false;
    ASSERT_EQ(ReadPlainMicros(&p, &quick, &fraction), NumberForm::kPlain) << text;
    ASSERT_TRUE(ParseDecimal(text, 3, &slow));
    ASSERT_EQ(quick, slow) << text;
    p = padded.data();
    if (!point) {
      ASSERT_EQ(ReadPlainInteger(&p, &quick), NumberForm::kPlain) << text;
      ASSERT_TRUE(ParseDecimal(text, 0, &slow));
      ASSERT_EQ(quick, slow) << text;
    }
  }
}

}  // namespace
}  // namespace headway::trace::kineto
