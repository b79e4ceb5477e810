/** A thread of `programs.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Kind, stepsPerSecond } from './programs.js';

parentPort!.postMessage(await stepsPerSecond(workerData as Kind, 1000));
