/** The same checks as in `constraint.long.test.ts`, many more times. */
import { testSampledAnswers } from './sampled-answers.js';

testSampledAnswers(300);
