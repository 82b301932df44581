// The emulated runtime compiler: g++ makes a shared library of a kernel file, once for each text.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "abi.h"
#include "rewrite.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

enum nvrtcResult : int { SUCCESS = 0, PROGRAM_CREATION_FAILURE = 2, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6 };

struct Program {
    std::string source, name, log, image;
};

namespace {

using Words = std::vector<std::string>;

struct Options {
    Words preprocessor;  // -D, -U, -I
    std::string standard = "-std=c++17";
    unsigned architecture = 75;
    bool exact = false, contract = true;
};

// The folder of this library holds include/ and cache/.
std::string home() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(&home), &info)) return ".";
    std::string path = info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Runs a program without a shell and gives what it printed on standard error; -1 if it cannot start.
int run(const Words& words, std::string& errors) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) return -1;
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 2);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    close(pipes[1]);
    char buffer[4096];
    for (ssize_t got; (got = read(pipes[0], buffer, sizeof buffer)) > 0;) errors.append(buffer, size_t(got));
    close(pipes[0]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

uint64_t hash(const std::string& text, uint64_t state = 0xcbf29ce484222325) {
    for (unsigned char byte : text) state = (state ^ byte) * 0x100000001b3;
    return state;
}

bool set_architecture(const std::string& value, Options& options) {
    size_t digits = value.find('_');
    if (digits == std::string::npos) return false;
    options.architecture = unsigned(std::atoi(value.c_str() + digits + 1));
    options.exact = value.compare(0, 3, "sm_") == 0;
    return options.architecture >= 50;
}

// Options about optimisation and diagnostics are accepted and have no effect.
bool parse(int count, const char* const* given, Options& options) {
    for (int i = 0; i < count; ++i) {
        std::string option = given[i];
        auto value_of = [&](const char* name) -> std::string {
            size_t bytes = std::strlen(name);
            if (option.compare(0, bytes, name) != 0) return "";
            if (option.size() > bytes) return option.substr(bytes + (option[bytes] == '='));
            return i + 1 < count ? given[++i] : "";
        };
        std::string value;
        if (!(value = value_of("--gpu-architecture")).empty() || !(value = value_of("-arch")).empty()) {
            if (!set_architecture(value, options)) return false;
        } else if (!(value = value_of("--std")).empty() || !(value = value_of("-std")).empty()) {
            options.standard = "-std=" + (value == "c++11" || value == "c++14" ? "c++17" : value);
        } else if (!(value = value_of("--define-macro")).empty() || !(value = value_of("-D")).empty()) {
            options.preprocessor.push_back("-D" + value);
        } else if (!(value = value_of("--undefine-macro")).empty() || !(value = value_of("-U")).empty()) {
            options.preprocessor.push_back("-U" + value);
        } else if (!(value = value_of("--include-path")).empty() || !(value = value_of("-I")).empty()) {
            options.preprocessor.push_back("-I" + value);
        } else if (option == "--fmad=false" || option == "-fmad=false") {
            options.contract = false;
        } else if (option.empty() || option[0] != '-') {
            return false;
        }
    }
    return true;
}

bool sanitizing() {
    const char* text = std::getenv("ZOETROPE_EMULATED_SANITIZE");
    return text && std::atoi(text) != 0;
}

// Puts another text in the place of one: "this=>that". For tests that must see a kernel that computes something wrong.
std::string with_mutation(std::string source) {
    const char* text = std::getenv("ZOETROPE_EMULATED_MUTATION");
    const char* arrow = text ? std::strstr(text, "=>") : nullptr;
    if (!arrow) return source;
    const std::string from(text, arrow), to(arrow + 2);
    size_t at = from.empty() ? std::string::npos : source.find(from);
    return at == std::string::npos ? source : source.replace(at, from.size(), to);
}

// Compiles in a folder of its own and renames, so that processes may do the same at once.
nvrtcResult build(Program& program, const Options& options, const std::string& target) {
    std::string folder = home() + "/cache/build-XXXXXX";
    if (!mkdtemp(&folder[0])) {
        program.log = "cuda emulator: cannot write to " + folder;
        return COMPILATION;
    }
    std::string source = folder + "/kernel.cu", plain = folder + "/kernel.ii", changed = folder + "/kernel.cpp", library = folder + "/kernel.so";
    write_file(source, "#line 1 \"" + program.name + "\"\n" + program.source);
    // No headers and no macros of the host, as NVRTC has none.
    Words first = {"g++", "-E", "-undef", "-nostdinc", "-x", "c++", options.standard, "-D__CUDACC__=1", "-D__CUDACC_RTC__=1", "-D__NVCC__=1", "-DCUDA_EMULATED=1",
                   "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__CUDA_ARCH__=" + std::to_string(options.architecture * 10)};
    first.insert(first.end(), options.preprocessor.begin(), options.preprocessor.end());
    first.insert(first.end(), {source, "-o", plain});
    int status = run(first, program.log);
    if (status == 0) {
        write_file(changed, "#include \"device_side.h\"\n" + emulator::rewrite(read_file(plain), options.architecture, options.exact));
        Words second = {"g++", options.standard, "-O2", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-fno-exceptions", "-fno-rtti",
                        "-fno-math-errno", "-fno-strict-aliasing", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-I", home() + "/include", changed, "-o", library, "-lm"};
#if defined(__x86_64__)
        // The device multiplies and adds with one rounding unless told otherwise.
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) second.insert(second.begin() + 3, {"-mavx2", "-mfma"});
#endif
        second.push_back(options.contract ? "-ffp-contract=fast" : "-ffp-contract=off");
        if (sanitizing()) second.push_back("-g");
        status = run(second, program.log);
    }
    if (status == 0) status = std::rename(library.c_str(), target.c_str());
    for (const auto& path : {source, plain, changed, library}) unlink(path.c_str());
    rmdir(folder.c_str());
    if (status != 0 && program.log.empty()) program.log = "cuda emulator: g++ cannot be run";
    return status == 0 ? SUCCESS : COMPILATION;
}

// What a compiled file depends on besides its source: the headers, this library, which rewrites, and the CPU.
std::string emulator_identity() {
    std::string identity;
    for (const char* header : {"abi", "device_side", "device_types", "device_warp", "device_math"}) identity += read_file(home() + "/include/" + header + ".h");
    struct stat status {};
    stat((home() + "/libnvrtc.so.13").c_str(), &status);
    identity += std::to_string(status.st_mtime) + "." + std::to_string(status.st_size);
    if (const char* mutation = std::getenv("ZOETROPE_EMULATED_MUTATION")) identity += mutation;
#if defined(__x86_64__)
    identity += __builtin_cpu_supports("fma") ? "fma" : "";
#endif
    return identity;
}

std::string cache_path(const Program& program, const Options& options) {
    std::string key = program.name + '\0' + program.source + '\0' + options.standard + (options.contract ? "f" : "") + (sanitizing() ? "g" : "") +
                      std::to_string(options.architecture) + (options.exact ? "x" : "");
    for (const auto& word : options.preprocessor) key += '\0' + word;
    key += emulator_identity();
    char name[40];
    std::snprintf(name, sizeof name, "%016llx%016llx", (unsigned long long)hash(key), (unsigned long long)hash(key, 0x9e3779b97f4a7c15));
    return home() + "/cache/" + name + ".so";
}

}  // namespace

// Programs keep compiled kernels on disk under the version of the compiler. A minor version that no NVRTC has,
// and that changes with the emulator, keeps its modules apart from real ones and from those of other builds.
EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) {
    static const int build = 100000 + int(hash(emulator_identity()) % 900000);
    *major = 13;
    *minor = build;
    return SUCCESS;
}

EXPORT const char* nvrtcGetErrorString(nvrtcResult result) {
    switch (result) {
        case SUCCESS: return "NVRTC_SUCCESS";
        case PROGRAM_CREATION_FAILURE: return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
        case INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
        case INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
        case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
        case COMPILATION: return "NVRTC_ERROR_COMPILATION";
    }
    return "NVRTC_ERROR unknown";
}

static const int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
    *count = sizeof architectures / sizeof *architectures;
    return SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int* list) {
    std::memcpy(list, architectures, sizeof architectures);
    return SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers, const char* const*, const char* const*) {
    if (!source || headers != 0) return INVALID_INPUT;
    *program = new Program{with_mutation(source), name ? name : "default_program", "", ""};
    return SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(Program** program) {
    delete *program;
    *program = nullptr;
    return SUCCESS;
}

EXPORT nvrtcResult nvrtcCompileProgram(Program* program, int count, const char* const* given) {
    Options options;
    if (!parse(count, given, options)) {
        program->log = "cuda emulator: an option is not understood";
        return INVALID_OPTION;
    }
    mkdir((home() + "/cache").c_str(), 0777);
    std::string path = cache_path(*program, options);
    program->log.clear();
    if (access(path.c_str(), R_OK) != 0) {
        if (auto error = build(*program, options, path)) return error;
    }
    program->image = read_file(path);
    return program->image.empty() ? COMPILATION : SUCCESS;
}

static nvrtcResult give(const std::string& image, char* to) {
    if (image.empty()) return INVALID_PROGRAM;
    std::memcpy(to, image.data(), image.size());
    return SUCCESS;
}

EXPORT nvrtcResult nvrtcGetCUBINSize(Program* program, size_t* bytes) {
    *bytes = program->image.size();
    return program->image.empty() ? INVALID_PROGRAM : SUCCESS;
}
EXPORT nvrtcResult nvrtcGetCUBIN(Program* program, char* to) { return give(program->image, to); }
EXPORT nvrtcResult nvrtcGetPTXSize(Program* program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
EXPORT nvrtcResult nvrtcGetPTX(Program* program, char* to) { return give(program->image, to); }

EXPORT nvrtcResult nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
    *bytes = program->log.size() + 1;
    return SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLog(Program* program, char* to) {
    std::memcpy(to, program->log.c_str(), program->log.size() + 1);
    return SUCCESS;
}
