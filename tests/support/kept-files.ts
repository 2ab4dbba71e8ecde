import { env } from 'cloudflare:workers'
import { systemClock } from '../../src/ids'
import { createResultStore } from '../../src/mcp-servers/results/result-store'
import { createWorkspaces } from '../../src/mcp-servers/workspace/workspace'

/** Stores of tool files, in the test's R2. */
export const keptFiles = {
  workspaceOf: createWorkspaces(env.FILES),
  results: createResultStore(env.FILES, systemClock),
}
