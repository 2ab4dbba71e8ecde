import type { AccountId } from '../../shared/ids'
import { sharedByName } from './workspace'

/**
 * Deletes the files and long results that agents keep for one account alone, those that it shared, and all
 * of the account's own. Idempotent.
 */
export async function deleteFilesOf(bucket: R2Bucket, accountId: AccountId): Promise<void> {
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
