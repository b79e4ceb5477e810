/** Imports the runtime; no other module does. */
import * as ort from 'onnxruntime-node';

// Since 1.29 it reports sessions (model and graph names, hashes, device id) to its vendor unless told not to.
// It checks this when the first session is created.
process.env.ORT_DISABLE_TELEMETRY = '1';
// Errors are thrown, so they need not also be printed.
ort.env.logLevel = 'fatal';

export { ort };
