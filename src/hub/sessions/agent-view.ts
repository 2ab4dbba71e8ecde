import type { KnowledgeView } from '../../agents/contract/agents'
import { type Answers, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { canEditAgent, type Editor } from '../definitions/may-edit'
import { deleteChangedRequests } from '../inbox/changed-requests-queries'
import type { Reader } from '../viewers/reader'
import { sessionErrors } from './errors'
import { selectKnowingAgent, selectSeenOwners } from './view-queries'

/** The reads that decide what a viewer sees of what an agent knows. */
export const viewStatements = (name: string, reader: Reader) => ({
  agent: selectKnowingAgent({ name }),
  owners: selectSeenOwners({ reader }),
})

type ViewAnswers = Answers<ReturnType<typeof viewStatements>>

export interface SeenAgent {
  id: AccountId
  name: string
  /** Of its active definition. */
  etag: string
  view: KnowledgeView
  /** Names of the communities whose data the viewer sees, by id. */
  labels: Map<string, string>
}

/**
 * Returns the agent, and what the viewer sees of what it knows. The agent itself and who can edit it manage it. What
 * its sessions hold of texts that changed is deleted before; while it runs that waits for its next run.
 *
 * @throws NOT_FOUND when this hub does not run the agent
 */
export async function toSeenAgent(
  { db, agents }: ActionContext,
  viewer: Editor,
  { agent, owners }: ViewAnswers,
): Promise<SeenAgent> {
  if (!agent) throw sessionErrors.agentNotFound()
  const { changed } = agent
  if (changed.length > 0 && (await agents.sessions.forget(agent.id, changed))) {
    const ids = changed.map(({ activationId }) => activationId)
    await run(db, deleteChangedRequests(agent.id, ids))
  }
  const self = viewer.id as AccountId
  const seen = owners.filter(({ isOpened }) => !isOpened)
  const isManager = canEditAgent(viewer, agent.ownerId) || self === agent.id
  return {
    ...{ id: agent.id, name: agent.name, etag: agent.etag },
    view: {
      self,
      owners: [self, ...seen.map(({ id }) => id)],
      opened: owners.filter(({ isOpened }) => isOpened).map(({ id }) => id),
      seesShared: isManager || viewer.role !== 'guest',
      isManager,
    },
    labels: new Map(seen.map(({ id, label }) => [id, label ?? ''])),
  }
}
