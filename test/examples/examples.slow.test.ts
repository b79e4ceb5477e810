import { testExamples } from '../support/examples.js';

testExamples(['fine-tuning'], 600_000);
