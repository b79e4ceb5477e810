/** A thread of `programs.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { reportCalls } from '../src/policies/program/watch.js';
import { type Kind, stepsPerSecond } from './programs.js';

// As in the threads that play a run's episodes, calls are watched from outside.
reportCalls(new Int32Array(new SharedArrayBuffer(4)));

parentPort!.postMessage(await stepsPerSecond(workerData as Kind, 1000));
