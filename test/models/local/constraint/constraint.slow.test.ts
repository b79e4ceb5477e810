/** As in `constraint.test.ts`, many times. */
import { testSampledAnswers } from './sampled-answers.js';

testSampledAnswers(300);
