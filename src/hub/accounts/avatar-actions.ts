import { batch, run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import { canEditAgent } from '../agents/definition-rules'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { setPicture } from '../media/actions'
import { deleteUses } from '../media/queries'
import { guardActor, type Viewer } from '../viewers/queries'
import { accountErrors } from './names'
import { type AccountRow, selectAccountById, selectAccountByName } from './queries'

/** Errors of pictures of accounts, as users read them. */
const avatarErrors = {
  notOwner: () =>
    new AppError('FORBIDDEN', 'Only the owner of an agent and admins can change its picture.', {
      hint: 'Ask the owner of the agent, or an admin of this hub.',
    }),
  ownOnly: () =>
    new AppError('FORBIDDEN', 'People choose their own pictures.', {
      hint: 'An admin can delete the picture of a person.',
    }),
}

/** Who changes a picture. */
interface Editor {
  viewer: Pick<Viewer, 'id' | 'kind' | 'role'>
  actor: Actor
}

/** Sets the picture of the account of a request; null deletes it. @throws as `setPicture` */
export async function changeOwnAvatar(
  context: ActionContext,
  actor: Actor,
  file: Uint8Array<ArrayBuffer> | null,
): Promise<AccountRow> {
  const account = await run(context.db, selectAccountById({ id: actor.accountId }))
  if (!account) throw accountErrors.notFound()
  const guard = await guardActor(context, actor, {})
  return save(context, actor, account, file, { guard })
}

/**
 * Sets the picture of an agent as its owner or an admin; null deletes it. An admin also deletes that of a person.
 *
 * @throws NOT_FOUND, FORBIDDEN, and as `setPicture`
 */
export async function changeAvatar(
  context: ActionContext,
  { viewer, actor }: Editor,
  name: string,
  file: Uint8Array<ArrayBuffer> | null,
): Promise<AccountRow> {
  const account = await run(context.db, selectAccountByName({ name }))
  if (!account || account.deletedAt !== null) throw accountErrors.notFound()
  if (!canEditAgent(viewer, account.ownerId)) throw avatarErrors.notOwner()
  if (account.kind !== 'agent' && file !== null) throw avatarErrors.ownOnly()
  return save(context, actor, account, file, {
    guard: await guardActor(context, actor, { role: viewer.role }),
    entry: recordAdminAction(context, actor.accountId, {
      action: 'account.avatar',
      targetType: 'account',
      targetId: account.id,
      before: { has_avatar: account.avatarId !== null },
      after: { has_avatar: file !== null },
    }),
  })
}

/** The picture counts for the quota of its account, and is deleted with it. */
async function save(
  context: ActionContext,
  { idempotencyKey }: Actor,
  account: AccountRow,
  file: Uint8Array<ArrayBuffer> | null,
  statements: Parameters<typeof setPicture>[4],
): Promise<AccountRow> {
  const { id } = account
  if (file === null) {
    await batch(context.db, { ...statements, picture: deleteUses(id) })
    return { ...account, avatarId: null }
  }
  const uploader = { accountId: id, idempotencyKey }
  const owner = { id, kind: 'account' } as const
  return { ...account, avatarId: await setPicture(context, uploader, owner, file, statements) }
}
