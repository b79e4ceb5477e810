/** The only module that imports the runtime. */
import * as ort from 'onnxruntime-node';

// Without this, the runtime reports every session to its vendor (since version 1.29).
process.env.ORT_DISABLE_TELEMETRY = '1';
// The runtime throws errors, so it needn't also print them.
ort.env.logLevel = 'fatal';

export { ort };
