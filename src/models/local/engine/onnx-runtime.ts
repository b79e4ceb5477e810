/** The runtime, and the only place that imports it. */
import * as ort from 'onnxruntime-node';

// From 1.29 on it reports sessions (model and graph names, hashes, device id) to its maker unless told not to. It looks
// when the first session is made.
process.env.ORT_DISABLE_TELEMETRY = '1';
// Errors are thrown, so the terminal need not show them too.
ort.env.logLevel = 'fatal';

export { ort };
