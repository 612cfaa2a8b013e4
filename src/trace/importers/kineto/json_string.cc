// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/json_string.h"

#include <cstdint>
#include <cstring>

#include "base/utf8.h"

namespace headway::trace::kineto {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits behind "\u", or -1.
int32_t CodeUnit(std::string_view text) {
  if (text.size() < 4) return -1;
  int32_t unit = 0;
  for (size_t i = 0; i < 4; ++i) {
    const int digit = HexDigit(text[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

void AppendCode(std::string& out, uint32_t code) {
  if (code < 0x20 || code == 0x7F) {
    out += ' ';
  } else {
    AppendUtf8(&out, code);
  }
}

// Handles the escape whose backslash is raw[i]; returns how many characters it takes.
size_t AppendEscape(CleanText& out, std::string_view raw, size_t i) {
  const char c = i + 1 < raw.size() ? raw[i + 1] : '\0';
  switch (c) {
    case '"':
    case '\\':
    case '/': out.text += c; return 2;
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': out.text += ' '; return 2;
    case 'u': {
      const int32_t unit = CodeUnit(raw.substr(i + 2));
      if (unit < 0) break;
      if (unit < 0xD800 || unit > 0xDFFF) {
        AppendCode(out.text, static_cast<uint32_t>(unit));
        return 6;
      }
      const std::string_view rest = raw.substr(i + 6);
      const int32_t low = unit < 0xDC00 && rest.starts_with("\\u") ? CodeUnit(rest.substr(2)) : -1;
      if (low >= 0xDC00 && low <= 0xDFFF) {
        AppendCode(out.text,
                   0x10000 + (static_cast<uint32_t>(unit - 0xD800) << 10) + static_cast<uint32_t>(low - 0xDC00));
        return 12;
      }
      AppendUtf8(&out.text, kReplacement);
      out.bad_escape = true;
      return 6;
    }
    default: break;
  }
  out.text += '\\';
  out.bad_escape = true;
  return 1;
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t eight = 0;
    if (text.size() >= sizeof(eight)) {
      std::memcpy(&eight, text.data(), sizeof(eight));
      if ((eight & 0x8080808080808080ULL) == 0) {
        text.remove_prefix(sizeof(eight));
        continue;
      }
    }
    const Utf8Step step = DecodeUtf8(text);
    if (!step.valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

std::string_view Utf8Prefix(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) --longest;
  return text.substr(0, longest);
}

CleanText CleanString(std::string_view raw) {
  CleanText out;
  out.text.reserve(raw.size());
  for (size_t i = 0; i < raw.size();) {
    const auto byte = static_cast<unsigned char>(raw[i]);
    if (raw[i] == '\\') {
      i += AppendEscape(out, raw, i);
    } else if (byte < 0x20 || byte == 0x7F) {
      out.text += ' ';
      out.control = out.control || byte < 0x20;
      ++i;
    } else if (byte < 0x80) {
      out.text += raw[i++];
    } else {
      const Utf8Step step = DecodeUtf8(raw.substr(i));
      AppendUtf8(&out.text, step.code);
      out.bad_utf8 = out.bad_utf8 || !step.valid;
      i += step.length;
    }
  }
  return out;
}

}  // namespace headway::trace::kineto
