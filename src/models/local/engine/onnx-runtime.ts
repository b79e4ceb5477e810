/** Imports the runtime; no other module does. */
import * as ort from 'onnxruntime-node';

// Otherwise (since 1.29) it reports sessions to its vendor from the first one on.
process.env.ORT_DISABLE_TELEMETRY = '1';
// Errors are thrown, so they need not also be printed.
ort.env.logLevel = 'fatal';

export { ort };
