import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { ActionContext } from '../action-context'
import { selectToolsVersion } from '../grants/queries'
import {
  type ActiveDefinition,
  selectActiveDefinitions,
  selectDefinitionsNaming,
  updateAgentModels,
} from './queries'

/** Agents whose definitions are read and written at a time. */
const agentsAtOnce = 25

/** Reads again which models each agent can use, with what their calls reserve, after a provider was changed. */
export const refreshModels = (context: ActionContext): Promise<void> =>
  checkAgain(context, selectActiveDefinitions({}))

/** Checks the definitions that name a tool server again: what they warn of depends on its tools. */
export const refreshWarnings = (context: ActionContext, server: string): Promise<void> =>
  checkAgain(context, selectDefinitionsNaming({ server }))

/** A definition that was saved meanwhile stays as it is: it was checked with what the hub has now. */
async function checkAgain(
  context: ActionContext,
  definitions: Statement<ActiveDefinition[]>,
): Promise<void> {
  const { db, clock, agents, models, tools } = context
  const { rows, connections, toolsVersion } = await batch(db, {
    rows: definitions,
    connections: models.selectConnections(),
    toolsVersion: selectToolsVersion({}),
  })
  if (rows.length === 0) return
  await tools.refresh({ toolsVersion })
  for (let from = 0; from < rows.length; from += agentsAtOnce) {
    const statements = await Promise.all(
      rows.slice(from, from + agentsAtOnce).map(async ({ agentId, name, version, etag }) => {
        const files = await agents.readDefinition(name, etag)
        const check = files && (await agents.checkDefinition(files, connections))
        if (!check?.ok) return []
        return updateAgentModels({ agentId, version, etag }, check.facts, clock.now())
      }),
    )
    await batch(db, { statements: statements.flat() })
  }
}
