/** The only module that imports the runtime. */
import * as ort from 'onnxruntime-node';

// Otherwise (since 1.29) the runtime reports every session to its vendor.
process.env.ORT_DISABLE_TELEMETRY = '1';
// Errors are thrown, so they don't need to be printed as well.
ort.env.logLevel = 'fatal';

export { ort };
