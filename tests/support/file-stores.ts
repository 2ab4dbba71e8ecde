import { env } from 'cloudflare:workers'
import { createResultStore } from '../../src/mcp-servers/results/result-store'
import { createWorkspaces } from '../../src/mcp-servers/workspace/workspace'
import { systemClock } from '../../src/shared/ids'

/** Stores of tool files, in the test's R2. */
export const testFileStores = {
  workspaceOf: createWorkspaces(env.FILES),
  results: createResultStore(env.FILES, systemClock),
}
