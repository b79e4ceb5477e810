import type { StudyPageBuilders } from '../../src/view/pages.js';
import type { Evaluation } from './evaluation.js';
import { evaluationPage } from './page.js';

/** Renders the pages of evaluations from their recorded results. */
export const pageBuilders: StudyPageBuilders = {
  evaluation: (recorded, context) => evaluationPage(recorded as Evaluation, context),
};
