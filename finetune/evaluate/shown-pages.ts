import type { StudyPages } from '../../src/view/pages.js';
import type { Evaluation } from './evaluation.js';
import { evaluationPage } from './page.js';

/** Renders the pages of evaluations from their recorded results. */
export const evaluationPages: StudyPages = {
  evaluation: (recorded, shown) => evaluationPage(recorded as Evaluation, shown),
};
