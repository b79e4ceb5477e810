import { examples, testExamples } from './run-examples.js';

/** Examples that train a model for a minute or more (examples.slow.test.ts), or need a checkout. */
const others = ['fine-tuning', 'learning-agent'];
testExamples(
  examples.filter((name) => !others.includes(name)),
  120_000,
);
