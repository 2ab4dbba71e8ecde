import { env } from 'cloudflare:workers'
import { systemClock } from '../../src/ids'
import { createResultStore } from '../../src/mcp-servers/results/result-store'
import { createWorkspaces } from '../../src/mcp-servers/workspace/workspace'

/** What tools keep in R2, on the real one of the test. */
export const keptFiles = {
  workspaceOf: createWorkspaces(env.FILES),
  results: createResultStore(env.FILES, systemClock),
}
