#include "cli/command.h"
namespace headway::cli {
int RunInspect(std::span<const std::string>) { return kUsage; }
int RunCompare(std::span<const std::string>) { return kUsage; }
}
