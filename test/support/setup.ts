/** What every file of tests starts with. */
import { afterAll } from 'vitest';
import { closeServers } from './fake-server.js';
import { removeTemporaryDirectories } from './temporary-directory.js';

afterAll(closeServers);
afterAll(removeTemporaryDirectories);
