import type { AccountId } from '../../shared/ids'
import type { FileOutcome, OwnFile, PrivateFiles } from '../contract/private-files'
import { isUntrustedFile, privateFolder, sharedByName, sharedFolder } from './workspace'

const sharedAtName = 'shared-at'

/** Creates the access of people to the files that agents keep for them, in R2. */
export const createPrivateFiles = (bucket: R2Bucket): PrivateFiles => ({
  list: async (agentId, owner) => {
    const [own, shared] = await Promise.all([
      listAll(bucket, privateFolder(agentId, owner)),
      listAll(bucket, sharedFolder(agentId)),
    ])
    const files = [
      ...own.map((object) => toFile(object, privateFolder(agentId, owner))),
      ...shared
        .filter((object) => isSharedBy(object, owner))
        .map((object) => toFile(object, sharedFolder(agentId))),
    ]
    return files.sort(byPath)
  },
  listSeen: async (agentId, self, owners) => {
    const folders = [
      { prefix: sharedFolder(agentId), privateTo: null },
      ...owners.map((owner) => ({ prefix: privateFolder(agentId, owner), privateTo: owner })),
    ]
    const lists = await Promise.all(
      folders.map(async ({ prefix, privateTo }) =>
        (await listAll(bucket, prefix)).map((object) => {
          const file = toFile(object, prefix)
          const sharedAt = isSharedBy(object, self) ? file.sharedAt : null
          return { ...file, sharedAt, privateTo, isUntrusted: isUntrustedFile(object) }
        }),
      ),
    )
    return lists.flat().sort(byPath)
  },
  deleteShared: async (agentId, path) => {
    const key = sharedFolder(agentId) + path
    if (!(await bucket.head(key))) return 'missing'
    await bucket.delete(key)
    return 'done'
  },
  share: async (agentId, owner, path, now) => {
    const from = privateFolder(agentId, owner) + path
    const to = sharedFolder(agentId) + path
    const [own, other] = await Promise.all([bucket.get(from), bucket.head(to)])
    const isOwnCopy = other !== null && isSharedBy(other, owner)
    if (!own) return isOwnCopy ? 'done' : 'missing'
    const mark = { [sharedByName]: owner, [sharedAtName]: String(now) }
    return move(bucket, own, to, { ...own.customMetadata, ...mark })
  },
  unshare: async (agentId, owner, path) => {
    const from = sharedFolder(agentId) + path
    const to = privateFolder(agentId, owner) + path
    const [shared, own] = await Promise.all([bucket.get(from), bucket.head(to)])
    if (!shared || !isSharedBy(shared, owner)) return own ? 'done' : 'missing'
    const { [sharedByName]: _by, [sharedAtName]: _at, ...mark } = shared.customMetadata ?? {}
    return move(bucket, shared, to, mark)
  },
  delete: async (agentId, owner, path) => {
    const [own, shared] = await Promise.all([
      bucket.head(privateFolder(agentId, owner) + path),
      bucket.head(sharedFolder(agentId) + path),
    ])
    const found = [own, shared && isSharedBy(shared, owner) ? shared : null]
    const keys = found.flatMap((object) => (object ? [object.key] : []))
    if (keys.length > 0) await bucket.delete(keys)
    return keys.length > 0 ? 'done' : 'missing'
  },
  deleteAll: (owner) => deleteFilesOf(bucket, owner),
})

const byPath = (a: { path: string }, b: { path: string }): number =>
  a.path < b.path ? -1 : a.path > b.path ? 1 : 0

/** Copies an object to a key that is free, or has the same content since an interrupted move, and deletes it. */
async function move(
  bucket: R2Bucket,
  object: R2ObjectBody,
  to: string,
  customMetadata: Record<string, string>,
): Promise<FileOutcome> {
  const content = await object.arrayBuffer()
  const onlyIf = { etagDoesNotMatch: '*' }
  const written = await bucket.put(to, content, { onlyIf, customMetadata })
  if (!written && (await bucket.head(to))?.etag !== object.etag) return 'taken'
  await bucket.delete(object.key)
  return 'done'
}

const isSharedBy = ({ customMetadata }: R2Object, owner: AccountId): boolean =>
  customMetadata?.[sharedByName] === owner

const toFile = (object: R2Object, folder: string): OwnFile => {
  const sharedAt = object.customMetadata?.[sharedAtName]
  return {
    path: object.key.slice(folder.length),
    bytes: object.size,
    updatedAt: object.uploaded.getTime(),
    sharedAt: sharedAt === undefined ? null : Number(sharedAt),
  }
}

async function listAll(bucket: R2Bucket, prefix: string): Promise<R2Object[]> {
  const found: R2Object[] = []
  let cursor: string | undefined
  do {
    const page: R2Objects = await bucket.list({
      prefix,
      include: ['customMetadata'],
      ...(cursor !== undefined && { cursor }),
    })
    found.push(...page.objects)
    cursor = page.truncated ? page.cursor : undefined
  } while (cursor !== undefined)
  return found
}

/**
 * Deletes the files and long results that agents keep for one account alone, those that it shared, and all
 * of the account's own. Idempotent.
 */
async function deleteFilesOf(bucket: R2Bucket, accountId: AccountId): Promise<void> {
  const own = ({ key }: R2Object) => key.split('/').includes(accountId)
  const isShared = (object: R2Object) =>
    own(object) || object.customMetadata?.[sharedByName] === accountId
  await deleteWhere(bucket, 'private-workspace/', own)
  await deleteWhere(bucket, 'results/', own)
  await deleteWhere(bucket, 'workspace/', isShared)
}

/** Deletes the objects of a prefix that match. The cursor of a page stays valid when its objects go. */
async function deleteWhere(
  bucket: R2Bucket,
  prefix: string,
  matches: (object: R2Object) => boolean,
): Promise<void> {
  let cursor: string | undefined
  do {
    const page: R2Objects = await bucket.list({
      prefix,
      include: ['customMetadata'],
      ...(cursor !== undefined && { cursor }),
    })
    const keys = page.objects.filter(matches).map(({ key }) => key)
    if (keys.length > 0) await bucket.delete(keys)
    cursor = page.truncated ? page.cursor : undefined
  } while (cursor !== undefined)
}
