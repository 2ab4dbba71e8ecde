import { workspaceLimits } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { workspaceErrors } from './errors'

export interface StoredFile {
  path: string
  bytes: number
  /** Changes with the content. */
  etag: string
  updatedAt: number
}

/** The files of one account. Paths are canonical (`readPath`). */
export interface Workspace {
  /** Returns files ordered by path, beginning after the path `after`. */
  list(query: {
    prefix: string
    after: string | null
    limit: number
  }): Promise<{ files: StoredFile[]; hasMore: boolean }>
  read(path: string): Promise<(StoredFile & { content: Uint8Array }) | null>
  /**
   * Writes a whole file. Writing the same content again succeeds.
   *
   * @param ifMatch the etag of the file as it was read; null for a new file
   * @throws CONFLICT when the file has changed or the folder is full; TOO_LARGE
   */
  write(path: string, content: Uint8Array, ifMatch: string | null): Promise<StoredFile>
  /** Deletes a file; false when it does not exist. */
  remove(path: string): Promise<boolean>
}

type FolderLimits = Record<'filesMax' | 'fileBytesMax' | 'bytesMax', number>

/**
 * Creates workspaces in R2, with keys `workspace/<account>/<path>`. A conditional put of R2 prevents
 * overwriting a changed file; the limits of a folder are checked before each write.
 */
export const createWorkspaces =
  (bucket: R2Bucket, limits: FolderLimits = workspaceLimits) =>
  (accountId: AccountId): Workspace => {
    const folder = `workspace/${accountId}/`
    const toFile = (object: R2Object): StoredFile => ({
      path: object.key.slice(folder.length),
      bytes: object.size,
      etag: object.etag,
      updatedAt: object.uploaded.getTime(),
    })
    return {
      async list({ prefix, after, limit }) {
        const found = await bucket.list({
          prefix: folder + prefix,
          limit,
          ...(after !== null && { startAfter: folder + after }),
        })
        return { files: found.objects.map(toFile), hasMore: found.truncated }
      },

      async read(path) {
        const object = await bucket.get(folder + path)
        if (!object) return null
        return { ...toFile(object), content: new Uint8Array(await object.arrayBuffer()) }
      },

      async write(path, content, ifMatch) {
        const key = folder + path
        const { objects } = await bucket.list({ prefix: folder, limit: limits.filesMax })
        checkLimits(limits, objects, key, content)
        const onlyIf = ifMatch === null ? { etagDoesNotMatch: '*' } : { etagMatches: ifMatch }
        const written = await bucket.put(key, content, { onlyIf })
        if (written) return toFile(written)
        const current = await bucket.head(key)
        // A retry after a lost response finds the content that it wrote before.
        if (current?.etag === (await md5(content))) return toFile(current)
        throw conflictError(path, current, ifMatch)
      },

      async remove(path) {
        const isThere = (await bucket.head(folder + path)) !== null
        if (isThere) await bucket.delete(folder + path)
        return isThere
      },
    }
  }

function checkLimits(
  limits: FolderLimits,
  all: R2Object[],
  key: string,
  content: Uint8Array,
): void {
  if (content.length > limits.fileBytesMax) throw workspaceErrors.fileTooLarge(limits.fileBytesMax)
  const others = all.filter((each) => each.key !== key)
  const bytes = others.reduce((sum, { size }) => sum + size, content.length)
  if (others.length < limits.filesMax && bytes <= limits.bytesMax) return
  throw workspaceErrors.folderFull(limits.filesMax, limits.bytesMax)
}

function conflictError(path: string, current: R2Object | null, ifMatch: string | null): AppError {
  if (!current) return workspaceErrors.deleted(path)
  return ifMatch === null ? workspaceErrors.exists(path) : workspaceErrors.changed(path)
}

/** Returns the etag that R2 gives an object that is uploaded in one part: its MD5, in hex. */
async function md5(content: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('MD5', content)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
