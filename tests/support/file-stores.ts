import { env } from 'cloudflare:workers'
import { createResultStore } from '../../src/mcp-servers/storage/result-store'
import { createWorkspaces } from '../../src/mcp-servers/storage/workspace'
import { systemClock } from '../../src/shared/ids'

/** Stores of tool files, in the test's R2. */
export const testFileStores = {
  workspaceOf: createWorkspaces(env.FILES),
  results: createResultStore(env.FILES, systemClock),
}
