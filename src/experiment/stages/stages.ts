import type { PrepareStage } from '../prepared-stage.js';
import { prepareCritic } from './critic/prepare.js';

/** The stages that a config can add to the iterations, in the order in which they run. */
export const preparers: readonly PrepareStage[] = [prepareCritic];
