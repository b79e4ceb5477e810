import { testExamples } from './run-examples.js';

testExamples(['fine-tuning'], 600_000);
