import { describe } from 'vitest';
import { repeats } from './repeatable.js';

/** A real quantised model, such as a Q4 GGUF file. */
const path = process.env.POLICYLOOP_REAL_MODEL;

describe.skipIf(path === undefined)('a real model', () => repeats(path!, 'none'));
