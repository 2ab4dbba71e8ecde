import type { ConversationApi, GrantApi, Sender } from '../../hub/contract/hub'
import { AppError } from '../../shared/errors'
import { credentialErrors } from './errors'
import type { Vault } from './vault'

interface GivenCredential {
  name: string
  value: string
  server: string
  service: string
  /** With or without `m/` and `@`. */
  community?: string | null | undefined
  agent?: string | null | undefined
}

/** Stores a credential that an admin submitted on the page or over the API. */
export async function setCredential(
  { vault, hub }: { vault: Vault; hub: ConversationApi & Pick<GrantApi, 'recordAdminAction'> },
  admin: Pick<Sender, 'id' | 'name' | 'keyId'>,
  { name, value, server, service, community, agent }: GivenCredential,
): Promise<void> {
  const actor = { accountId: admin.id, name: admin.name, kind: 'human' as const }
  const requester = { ...actor, activationId: null, postId: null, idempotencyKey: null }
  const found = agent
    ? await find('agent', hub.readProfile(requester, agent.replace(/^@/, '')))
    : null
  const place = community ? await find('community', hub.readCommunity(requester, community)) : null
  await hub.recordAdminAction(admin, {
    action: 'credential.set',
    targetType: 'credential',
    targetId: name,
    after: { server, service, community: place?.name ?? null, agent: found?.name ?? null },
  })
  await vault.put({
    name,
    value,
    server,
    service,
    by: admin.name,
    community: place?.name ?? null,
    agent: found && { id: found.id, name: found.name },
  })
}

/** Awaits a read of what a field names. @throws NOT_FOUND with the field */
async function find<Found>(field: 'agent' | 'community', read: Promise<Found>): Promise<Found> {
  try {
    return await read
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'NOT_FOUND')) throw error
    throw credentialErrors.fieldNotFound(field, error)
  }
}
