// The emulated NCCL: messages between ranks that are threads of one process, each with a device of its own.
//
// Calls of a communicator that does not block return at once with "in progress" and are finished when the
// client asks for the state, which is what NCCL's own threads do on a machine: a client that goes on
// without asking finds NaN where it should have received. Communicators that block are not emulated.
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_api.h"

EXPORT CUresult cuCtxGetDevice(CUdevice* device);
EXPORT CUresult zoetrope_emulator_enqueue(CUstream stream, const char* name, void (*run)(void*), void* data, void (*drop)(void*));
EXPORT int zoetrope_emulator_on_device(const void* pointer, size_t bytes);

namespace {

enum Status : int {
    SUCCESS = 0,
    UNHANDLED_CUDA_ERROR = 1,
    INTERNAL_ERROR = 3,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    REMOTE_ERROR = 6,
    IN_PROGRESS = 7,
};

constexpr int FLOAT = 7;

struct UniqueId {
    char bytes[128];
};

struct Config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

// What the ranks of one unique id share.
struct Meeting {
    std::mutex lock;
    std::map<int, int> devices;  // of the ranks that are here
    std::map<std::pair<int, int>, std::deque<std::vector<float>>> letters;  // by sender and receiver
    bool broken = false;         // a rank has aborted
};

std::mutex meetings_lock;
std::map<std::string, std::weak_ptr<Meeting>> meetings;
unsigned next_id = 1;

struct Message {
    bool sends;
    float* place;
    size_t count;
    int peer;
};

}  // namespace

struct ncclComm {
    std::shared_ptr<Meeting> meeting;
    int rank, size;
    bool joined = false;
    int failed = SUCCESS;
    std::vector<Message> expected;  // messages that have not been received yet
};

namespace {

thread_local int depth = 0;
thread_local ncclComm* grouped = nullptr;
thread_local CUstream grouped_stream = nullptr;
thread_local std::vector<Message> group;

struct Batch {
    ncclComm* comm;
    std::vector<Message> messages;
};

// Runs in the order of the stream: what is sent was computed by now.
void depart(void* data) {
    Batch& batch = *static_cast<Batch*>(data);
    Meeting& meeting = *batch.comm->meeting;
    std::lock_guard<std::mutex> hold(meeting.lock);
    for (const Message& message : batch.messages) {
        if (message.sends) {
            std::vector<float> values(message.place, message.place + message.count);
            meeting.letters[{batch.comm->rank, message.peer}].push_back(std::move(values));
        } else {
            for (size_t i = 0; i < message.count; i++) message.place[i] = std::nanf("");
            batch.comm->expected.push_back(message);
        }
    }
}

// Whether all ranks are here; two with one device are refused, as NCCL does.
int join(ncclComm& comm) {
    Meeting& meeting = *comm.meeting;
    if (int(meeting.devices.size()) < comm.size) return IN_PROGRESS;
    std::map<int, int> ranks;
    for (auto [rank, device] : meeting.devices) {
        if (!ranks.emplace(device, rank).second) return INVALID_USAGE;
    }
    comm.joined = true;
    return SUCCESS;
}

int receive(ncclComm& comm) {
    auto& letters = comm.meeting->letters;
    for (size_t at = 0; at < comm.expected.size();) {
        const Message message = comm.expected[at];
        auto& queue = letters[{message.peer, comm.rank}];
        if (queue.empty()) {
            at++;
            continue;
        }
        if (queue.front().size() != message.count) return INVALID_ARGUMENT;
        std::memcpy(message.place, queue.front().data(), message.count * sizeof(float));
        queue.pop_front();
        comm.expected.erase(comm.expected.begin() + long(at));
    }
    return comm.expected.empty() ? SUCCESS : IN_PROGRESS;
}

int add(ncclComm* comm, CUstream stream, Message message) {
    if (!comm || message.peer < 0 || message.peer >= comm->size || message.peer == comm->rank) return INVALID_ARGUMENT;
    if (!comm->joined || !comm->expected.empty()) return INVALID_USAGE;
    if (!zoetrope_emulator_on_device(message.place, message.count * sizeof(float))) return INVALID_ARGUMENT;
    // One communicator and one stream a group, and never without one: more is not emulated.
    if (depth == 0 || (grouped && (grouped != comm || grouped_stream != stream))) return INVALID_USAGE;
    grouped = comm;
    grouped_stream = stream;
    group.push_back(message);
    return SUCCESS;
}

}  // namespace

EXPORT int ncclGetVersion(int* version) {
    *version = 22703;
    return SUCCESS;
}

EXPORT const char* ncclGetErrorString(int status) {
    switch (status) {
        case SUCCESS: return "no error";
        case UNHANDLED_CUDA_ERROR: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case INVALID_ARGUMENT: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case INVALID_USAGE: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case REMOTE_ERROR: return "remote process exited or there was a network error";
        case IN_PROGRESS: return "NCCL operation in progress";
        default: return "internal error - please report this issue to the NCCL developers";
    }
}

EXPORT int ncclGetUniqueId(UniqueId* id) {
    std::lock_guard<std::mutex> hold(meetings_lock);
    std::memset(id->bytes, 0, sizeof id->bytes);
    std::string text = "emulated " + std::to_string(next_id++);
    std::memcpy(id->bytes, text.c_str(), text.size());
    return SUCCESS;
}

EXPORT int ncclCommInitRankConfig(ncclComm** comm, int size, UniqueId id, int rank, Config* config) {
    if (config->magic != 0xcafebeef || config->size < sizeof(Config) || config->blocking != 0) return INVALID_ARGUMENT;
    if (rank < 0 || rank >= size) return INVALID_ARGUMENT;
    int device = 0;
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS) return UNHANDLED_CUDA_ERROR;
    std::lock_guard<std::mutex> hold(meetings_lock);
    auto& known = meetings[std::string(id.bytes, sizeof id.bytes)];
    auto meeting = known.lock();
    if (!meeting) known = meeting = std::make_shared<Meeting>();
    std::lock_guard<std::mutex> inside(meeting->lock);
    if (!meeting->devices.emplace(rank, device).second) return INVALID_USAGE;
    *comm = new ncclComm{meeting, rank, size, false, SUCCESS, {}};
    return IN_PROGRESS;
}

EXPORT int ncclCommGetAsyncError(ncclComm* comm, int* status) {
    if (!comm) return INVALID_ARGUMENT;
    std::lock_guard<std::mutex> hold(comm->meeting->lock);
    if (comm->failed == SUCCESS) {
        int now = comm->joined ? receive(*comm) : join(*comm);
        if (now == IN_PROGRESS && comm->meeting->broken) now = REMOTE_ERROR;
        if (now == SUCCESS || now == IN_PROGRESS) {
            *status = now;
            return SUCCESS;
        }
        comm->failed = now;
    }
    *status = comm->failed;
    return SUCCESS;
}

EXPORT int ncclCommFinalize(ncclComm* comm) { return comm ? SUCCESS : INVALID_ARGUMENT; }

EXPORT int ncclCommDestroy(ncclComm* comm) {
    if (!comm) return INVALID_ARGUMENT;
    delete comm;
    return SUCCESS;
}

EXPORT int ncclCommAbort(ncclComm* comm) {
    if (!comm) return INVALID_ARGUMENT;
    {
        std::lock_guard<std::mutex> hold(comm->meeting->lock);
        comm->meeting->broken = true;
    }
    delete comm;
    return SUCCESS;
}

EXPORT int ncclGroupStart() {
    depth++;
    return SUCCESS;
}

EXPORT int ncclGroupEnd() {
    if (depth == 0) return INVALID_USAGE;
    if (--depth > 0 || group.empty()) return SUCCESS;
    auto* batch = new Batch{grouped, std::move(group)};
    CUstream stream = grouped_stream;
    group.clear();
    grouped = nullptr;
    auto drop = [](void* data) { delete static_cast<Batch*>(data); };
    if (zoetrope_emulator_enqueue(stream, "ncclDevKernel_SendRecv", depart, batch, drop) != CUDA_SUCCESS) return UNHANDLED_CUDA_ERROR;
    return IN_PROGRESS;
}

EXPORT int ncclSend(const float* place, size_t count, int type, int peer, ncclComm* comm, CUstream stream) {
    if (type != FLOAT) return INVALID_ARGUMENT;
    return add(comm, stream, Message{true, const_cast<float*>(place), count, peer});
}

EXPORT int ncclRecv(float* place, size_t count, int type, int peer, ncclComm* comm, CUstream stream) {
    if (type != FLOAT) return INVALID_ARGUMENT;
    return add(comm, stream, Message{false, place, count, peer});
}
