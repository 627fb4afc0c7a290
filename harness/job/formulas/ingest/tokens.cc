// Token data and step times that follow from arithmetic (A10-A13).
#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// A10: T = B_tok / t [1/s]. Tokens per second; B_tok counts the tokens of one optimizer step.
double token_rate(double batch_tokens, double step_time) { return batch_tokens / step_time; }
const Define<token_rate> a10{{
    .id = "A10",
    .name = "token_rate",
    .title = "Token rate",
    .equation = "B_tok / t",
    .unit = "1/s",
    .validity = "B_tok is per optimizer step: a batch of 2 M tokens is not 2 M tokens/s.",
    .source = "definition",
    .inputs = {{"batch_tokens_count", "B_tok"}, Input("step_time_s", "t").above(0)},
    .example = "batch_tokens_count=2e6 step_time_s=3s",
}};

/// A11: W = T * beta [B/s]. beta is the stored size of a token id (A12), or about 4 B per token of
/// English text.
double token_read_bandwidth(double token_rate, double token_bytes) { return token_rate * token_bytes; }
const Define<token_read_bandwidth> a11{{
    .id = "A11",
    .name = "token_read_bandwidth",
    .title = "Token read bandwidth",
    .equation = "T * beta",
    .unit = "B/s",
    .validity = "beta from A12 for stored ids, about 4 B per token for raw English text.",
    .source = "definition",
    .inputs = {{"token_rate_per_s", "T"}, {"token_bytes", "beta"}},
    .example = "token_rate_per_s=2097152/s token_bytes=2B",
}};

/// A12: beta = 1, 2, 4 for V <= 2^8, 2^16, 2^32 [B]. The smallest unsigned integer that holds every
/// token id.
double token_id_bytes(double vocabulary) { return vocabulary <= 0x1p8 ? 1 : vocabulary <= 0x1p16 ? 2 : 4; }
const Define<token_id_bytes> a12{{
    .id = "A12",
    .name = "token_id_bytes",
    .title = "Bytes per token id",
    .equation = "1, 2, 4 for V <= 2^8, 2^16, 2^32",
    .unit = "B",
    .validity = "Unsigned ids; int16 reaches V = 32768 only.",
    .source = "definition",
    .inputs = {Input("vocabulary_count", "V").whole().at_most(0x1p32)},
    .example = "vocabulary_count=50257",
}};

/// A13: t = 6 * P * B_tok / (G * F * mfu) [s]. Step time of a dense decoder, for when none was
/// measured.
double step_time_from_flops(double params, double batch_tokens, double gpus, double peak_flop, double mfu) {
  return 6 * params * batch_tokens / (gpus * peak_flop * mfu);
}
const Define<step_time_from_flops> a13{{
    .id = "A13",
    .name = "step_time_from_flops",
    .title = "Step time from FLOPs",
    .equation = "6 * P * B_tok / (G * F * mfu)",
    .unit = "s",
    .validity = "Dense decoder with a context short enough to neglect attention; prefer a measured "
                "step time.",
    .source = "PALM; MEG21",
    .inputs = {{"params_count", "P"},
               {"batch_tokens_count", "B_tok"},
               Input("gpus_count", "G").whole(),
               Input("peak_flop_per_s", "F").above(0),
               Input("mfu_ratio", "mfu").above(0).at_most(1)},
    .example = "params_count=7e9 batch_tokens_count=2e6 gpus_count=512 peak_flop_per_s=312TFLOP/s "
               "mfu_ratio=0.4",
}};

}  // namespace
}  // namespace headrace::job
