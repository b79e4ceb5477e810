import type { BaselineConfig } from '../config/baselines.js';
import type { Baseline } from './baseline.js';
import { createCmaEs } from './cma-es.js';
import { createGp } from './gp.js';
import { createHillClimb, createMix, createRandomSearch } from './local-search.js';
import { createGeneticSearch } from './programs.js';

/** @param candidates number of proposals per iteration */
export function createBaseline(config: BaselineConfig, candidates?: number): Baseline {
  switch (config.provider) {
    case 'random':
      return createRandomSearch();
    case 'hill-climb':
      return createHillClimb(config);
    case 'cma-es':
      return createCmaEs(config, candidates);
    case 'mix':
      return createMix();
    case 'gp':
      return createGp();
    case 'genetic':
      return createGeneticSearch(config);
  }
}
