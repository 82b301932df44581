#include "rewrite.h"

#include <cctype>

namespace emulator {
namespace {

struct Token {
    std::string text;
    size_t begin, end;
};

// Identifiers, literals and single characters; comments are gone, line markers and pragmas are skipped.
std::vector<Token> tokens_of(const std::string& s) {
    std::vector<Token> tokens;
    bool line_begins = true;
    for (size_t i = 0; i < s.size();) {
        unsigned char c = static_cast<unsigned char>(s[i]);
        size_t begin = i;
        if (c == '\n') {
            line_begins = true;
            ++i;
            continue;
        }
        if (std::isspace(c)) {
            ++i;
            continue;
        }
        if (c == '#' && line_begins) {
            while (i < s.size() && s[i] != '\n') ++i;
            continue;
        }
        line_begins = false;
        if (c == '"' || c == '\'') {
            for (++i; i < s.size() && s[i] != char(c); ++i) {
                if (s[i] == '\\') ++i;
            }
            ++i;
        } else if (std::isdigit(c)) {
            // A number may hold the digit separator of C++14, which must not open a character literal.
            while (i < s.size() && (std::isalnum(static_cast<unsigned char>(s[i])) || s[i] == '.' || s[i] == '\'')) ++i;
        } else if (std::isalpha(c) || c == '_') {
            while (i < s.size() && (std::isalnum(static_cast<unsigned char>(s[i])) || s[i] == '_')) ++i;
        } else {
            ++i;
        }
        tokens.push_back({s.substr(begin, i - begin), begin, i});
    }
    return tokens;
}

// Index of the parenthesis that closes the one at `open`.
size_t closing(const std::vector<Token>& tokens, size_t open) {
    int depth = 0;
    for (size_t i = open; i < tokens.size(); ++i) {
        if (tokens[i].text == "(") ++depth;
        if (tokens[i].text == ")" && --depth == 0) return i;
    }
    return tokens.size();
}

bool is_word(const Token& token) { return std::isalpha(static_cast<unsigned char>(token.text[0])) || token.text[0] == '_'; }

struct Found {
    std::string name, launch_bound;
};

// The kernel declared at `i`, the index of `__global__`.
Found kernel_at(const std::string& source, const std::vector<Token>& tokens, size_t i) {
    Found found{"", "0"};
    auto bound = [&](size_t word) {
        size_t close = closing(tokens, word + 1);
        if (tokens[word].text == "__launch_bounds__" && close < tokens.size())
            found.launch_bound = "emulator::first(" + source.substr(tokens[word + 1].end, tokens[close].begin - tokens[word + 1].end) + ")";
        return close;
    };
    auto is_attribute = [&](size_t word) { return tokens[word].text == "__launch_bounds__" || tokens[word].text.rfind("__attribute", 0) == 0; };
    // Qualifiers may also stand in front of __global__, back to the end of the last declaration.
    for (size_t back = i; back > 0 && tokens[back - 1].text != ";" && tokens[back - 1].text != "}"; --back) {
        if (is_attribute(back - 1)) bound(back - 1);
    }
    for (++i; i + 1 < tokens.size() && tokens[i].text != ";" && tokens[i].text != "{"; ++i) {
        if (!is_word(tokens[i]) || tokens[i + 1].text != "(") continue;
        if (is_attribute(i)) {
            i = bound(i);
            continue;
        }
        size_t close = closing(tokens, i + 1);
        if (close + 1 < tokens.size() && tokens[close + 1].text == "{") found.name = tokens[i].text;  // not a mere declaration
        return found;
    }
    return found;
}

std::string dynamic_shared(const std::string& type, const std::string& name, int depth) {
    std::string pointer = "static_cast<" + type + "*>(emulator::self()->dynamic_shared)";
    if (depth > 0) return type + "* const " + name + " = " + pointer + ";";
    // Outside of functions, something that turns into the pointer of the running block when used.
    return "static const struct { operator " + type + "*() const { return " + pointer + "; } } " + name + " = {};";
}

}  // namespace

std::string rewrite(const std::string& source, unsigned architecture, bool exact) {
    auto tokens = tokens_of(source);
    std::string result;
    std::vector<Found> kernels;
    std::vector<bool> braces;  // true: of an extern "C" or a namespace, which are no functions
    size_t copied = 0, declaration = 0;
    auto inside_function = [&] {
        for (bool outer : braces)
            if (!outer) return true;
        return false;
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
        const std::string& text = tokens[i].text;
        if (text == "extern" && i + 1 < tokens.size() && tokens[i + 1].text == "__shared__") {
            std::string type;
            size_t at = i + 2;
            while (at + 1 < tokens.size() && tokens[at + 1].text != "[" && tokens[at].text != ";") {
                bool aligned = tokens[at].text == "__align__" || tokens[at].text == "alignas" || tokens[at].text == "__attribute__";
                if (aligned && tokens[at + 1].text == "(") at = closing(tokens, at + 1);
                else type += tokens[at].text + " ";
                ++at;
            }
            size_t end = at;
            while (end < tokens.size() && tokens[end].text != ";") ++end;
            if (end == tokens.size()) break;
            result += source.substr(copied, tokens[i].begin - copied) + dynamic_shared(type, tokens[at].text, inside_function() ? 1 : 0);
            copied = tokens[end].end;
            i = end;
            declaration = i + 1;
        } else if (text == "__global__") {
            bool c_name = false, is_template = false;
            for (size_t back = declaration; back < i; ++back) {
                c_name |= tokens[back].text == "extern" && tokens[back + 1].text == "\"C\"";
                is_template |= tokens[back].text == "template";
            }
            // Inside of extern "C" { … } the name is plain as well.
            c_name |= !braces.empty() && braces.back();
            auto found = kernel_at(source, tokens, i);
            if (c_name && !is_template && !found.name.empty()) kernels.push_back(found);
        } else if (text == "{") {
            bool linkage = i >= 2 && tokens[i - 1].text == "\"C\"" && tokens[i - 2].text == "extern";
            bool space = i >= 1 && (tokens[i - 1].text == "namespace" || (i >= 2 && tokens[i - 2].text == "namespace"));
            braces.push_back(linkage || space);
            declaration = i + 1;
        } else if (text == "}" || text == ";") {
            if (text == "}" && !braces.empty()) braces.pop_back();
            declaration = i + 1;
        }
    }
    result += source.substr(copied);
    result += "\n#line 1 \"table of kernels\"\nstatic const emulator::Kernel zoetrope_kernels[] = {\n";
    for (const auto& kernel : kernels) result += "    emulator::kernel<" + kernel.name + ">(\"" + kernel.name + "\", " + kernel.launch_bound + "),\n";
    result += "    {}};\n";
    result += "extern \"C\" __attribute__((visibility(\"default\"))) const emulator::Module zoetrope_module = {emulator::abi_version, " +
              std::to_string(architecture) + ", " + (exact ? "true" : "false") + ", " + std::to_string(kernels.size()) +
              ", zoetrope_kernels, emulator::shared_anchor};\n";
    return result;
}

}  // namespace emulator
