import * as ort from 'onnxruntime-node';

// The runtime throws what went wrong; it need not write it to the terminal too.
ort.env.logLevel = 'fatal';

export { ort };
