import type { DataOwner, Privacy } from '../../hub/contract/hub'
import { workspaceLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { toHex } from '../../shared/sha256'
import type { FileUse } from '../contract/tools'

export interface StoredFile {
  path: string
  bytes: number
  /** Changes with the content. */
  etag: string
  updatedAt: number
  /** Only runs for its requester see it. */
  isPrivate?: true
  /** A run that had read untrusted text wrote it, or it is not known that none did. */
  isUntrusted?: true
}

/** The files of one account, as one reader sees them. Paths are canonical (`readPath`). */
export interface Workspace {
  /** Returns files ordered by path, beginning after the path `after`. A private file hides a shared one. */
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
   * @throws CONFLICT when the file has changed, the folder is full, or a shared file would be written
   *   over a private one; TOO_LARGE
   */
  write(path: string, content: Uint8Array, ifMatch: string | null): Promise<StoredFile>
  /** Counts the files that `list` returns, and their bytes. */
  measure(): Promise<FileUse>
  /** Deletes a file, the private one first; false when it does not exist. */
  remove(path: string): Promise<boolean>
}

type FolderLimits = Record<'filesMax' | 'fileBytesMax' | 'bytesMax', number>

/** A folder in R2: a prefix of keys, and whether its files are private. */
interface Folder {
  prefix: string
  isPrivate: boolean
}

/** The folders of one account, as a run of one privacy uses them. */
interface Folders {
  bucket: R2Bucket
  /** Prefixes of all files of the account. */
  all: string[]
  /** The folders that it reads, the first one first. */
  readable: Folder[]
  /** The folder that it writes. */
  target: Folder
  /** Metadata of the files that it writes. */
  mark: Record<string, string>
}

/** Prefix of the keys of an account's files that all of its runs see. */
export const sharedFolder = (accountId: AccountId): string => `workspace/${accountId}/`

/** Prefix of the keys of an account's files that only runs for the owner see. */
export const privateFolder = (accountId: AccountId, owner: DataOwner): string =>
  `private-workspace/${accountId}/${owner}/`

/** Metadata of a file that a person shared: their account. A run that writes the file removes it. */
export const sharedByName = 'shared-by'

/**
 * Creates workspaces in R2, with keys `workspace/<account>/<path>` for shared files and
 * `private-workspace/<account>/<reader>/<path>` for those that runs for one account alone see: no path
 * leads from one to the other. A conditional put of R2 prevents overwriting a changed file; the limits
 * hold for all files of an account and are checked before each write.
 */
export const createWorkspaces =
  (bucket: R2Bucket, limits: FolderLimits = workspaceLimits) =>
  (accountId: AccountId, { reader, privateTo }: Privacy, isUntrusted: boolean): Workspace => {
    const shared: Folder = { prefix: sharedFolder(accountId), isPrivate: false }
    const privateRoot = `private-workspace/${accountId}/`
    const toPrivate = (owner: DataOwner): Folder => ({
      prefix: privateFolder(accountId, owner),
      isPrivate: true,
    })
    const folders: Folders = {
      bucket,
      all: [shared.prefix, privateRoot],
      readable: reader === null ? [shared] : [toPrivate(reader), shared],
      target: privateTo === null ? shared : toPrivate(privateTo),
      mark: isUntrusted ? untrustedMark : trustedMark,
    }
    return {
      list: (query) => listFiles(folders, query),
      measure: () => measureFiles(folders, limits),
      read: (path) => readFile(folders, path),
      async write(path, content, ifMatch) {
        await checkRoom(folders, limits, path, content)
        return writeFile(folders, path, content, ifMatch)
      },
      async remove(path) {
        const seen = await findFile(folders, path)
        if (seen) await bucket.delete(seen.folder.prefix + path)
        return seen !== null
      },
    }
  }

/** Returns the visible file of a path, with its folder; null when there is none. */
async function findFile({ bucket, readable }: Folders, path: string) {
  for (const folder of readable) {
    const object = await bucket.head(folder.prefix + path)
    if (object) return { object, folder }
  }
  return null
}

async function listFiles(
  { bucket, readable }: Folders,
  { prefix, after, limit }: Parameters<Workspace['list']>[0],
) {
  const pages = await Promise.all(
    readable.map(async (folder) => {
      const { objects, truncated } = await bucket.list({
        prefix: folder.prefix + prefix,
        limit,
        include: ['customMetadata'],
        ...(after !== null && { startAfter: folder.prefix + after }),
      })
      return { files: objects.map((each) => toFile(each, folder)), isTruncated: truncated }
    }),
  )
  return mergePages(pages, limit)
}

async function measureFiles(folders: Folders, { filesMax }: FolderLimits): Promise<FileUse> {
  const { files } = await listFiles(folders, { prefix: '', after: null, limit: filesMax })
  return { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) }
}

async function readFile({ bucket, readable }: Folders, path: string) {
  for (const folder of readable) {
    const object = await bucket.get(folder.prefix + path)
    if (!object) continue
    return { ...toFile(object, folder), content: new Uint8Array(await object.arrayBuffer()) }
  }
  return null
}

async function writeFile(
  folders: Folders,
  path: string,
  content: Uint8Array,
  ifMatch: string | null,
): Promise<StoredFile> {
  const { bucket, target, readable, mark } = folders
  const key = target.prefix + path
  const seen = readable.length > 1 ? await findFile(folders, path) : null
  const other = seen?.folder.prefix === target.prefix ? null : seen
  if (other && (await isUnchanged(other, path, content, ifMatch))) {
    return toFile(other.object, other.folder)
  }
  // A private run writes its own copy of a shared file.
  const isNew = ifMatch === null || other !== null
  const onlyIf = isNew ? { etagDoesNotMatch: '*' } : { etagMatches: ifMatch }
  const written = await bucket.put(key, content, { onlyIf, customMetadata: mark })
  if (written) return toFile(written, target)
  const current = await bucket.head(key)
  // A retry after a lost response finds the content that it wrote before.
  if (current?.etag === (await md5(content))) return toFile(current, target)
  throw conflictError(path, current, ifMatch)
}

/**
 * Checks a write over a file of another folder. Returns true when that file has this content already.
 *
 * @throws CONFLICT when the file is private, because a shared one would stay hidden behind it, or when it
 *   was not read as it is
 */
async function isUnchanged(
  { object, folder }: NonNullable<Awaited<ReturnType<typeof findFile>>>,
  path: string,
  content: Uint8Array,
  ifMatch: string | null,
): Promise<boolean> {
  if (folder.isPrivate) throw workspaceErrors.private(path)
  if (object.etag === (await md5(content))) return true
  if (object.etag !== ifMatch) throw conflictError(path, object, ifMatch)
  return false
}

/** Throws CONFLICT when the files of the account have no room for this one, TOO_LARGE for a large file. */
async function checkRoom(
  { bucket, all, target }: Folders,
  limits: FolderLimits,
  path: string,
  content: Uint8Array,
): Promise<void> {
  const limit = limits.filesMax
  const pages = await Promise.all(all.map((prefix) => bucket.list({ prefix, limit })))
  const objects = pages.flatMap((page) => page.objects)
  checkLimits(limits, objects, target.prefix + path, content)
}

const toFile = (object: R2Object, { prefix, isPrivate }: Folder): StoredFile => ({
  path: object.key.slice(prefix.length),
  bytes: object.size,
  etag: object.etag,
  updatedAt: object.uploaded.getTime(),
  ...(isPrivate && { isPrivate: true }),
  ...(isUntrustedFile(object) && { isUntrusted: true }),
})

/** A file without the mark, as versions before wrote it, counts as untrusted. */
const markName = 'untrusted'
const trustedMark = { [markName]: 'no' }
const untrustedMark = { [markName]: 'yes' }

/** Whether a run that had read untrusted text wrote a file, or it is not known that none did. */
export const isUntrustedFile = ({ customMetadata }: R2Object): boolean =>
  customMetadata?.[markName] !== trustedMark[markName]

interface FilePage {
  /** Ordered by path. */
  files: StoredFile[]
  isTruncated: boolean
}

/**
 * Merges pages of several folders that begin at the same path. Of files with the same path that of the
 * first folder remains.
 */
function mergePages(pages: FilePage[], limit: number): { files: StoredFile[]; hasMore: boolean } {
  // Behind the last file of a truncated page others of its folder may follow.
  const ends = pages.flatMap(({ files, isTruncated }) => (isTruncated ? files.slice(-1) : []))
  const [end] = ends.map(({ path }) => path).sort(compareAsR2)
  const byPath = new Map<string, StoredFile>()
  for (const file of pages.flatMap(({ files }) => files)) {
    const isKnown = end === undefined || compareAsR2(file.path, end) <= 0
    if (isKnown && !byPath.has(file.path)) byPath.set(file.path, file)
  }
  const merged = [...byPath.values()].sort((a, b) => compareAsR2(a.path, b.path))
  return {
    files: merged.slice(0, limit),
    hasMore: merged.length > limit || pages.some(({ isTruncated }) => isTruncated),
  }
}

const encoder = new TextEncoder()

/** Compares keys as R2 orders them: by their bytes in UTF-8. Strings compare by UTF-16 code units. */
function compareAsR2(a: string, b: string): number {
  const [left, right] = [encoder.encode(a), encoder.encode(b)]
  const at = left.findIndex((byte, index) => byte !== right[index])
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1)
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
  return toHex(await crypto.subtle.digest('MD5', content))
}

/** Errors of writing an agent's files, as models read them. */
const workspaceErrors = {
  fileTooLarge: (bytesMax: number) =>
    new AppError('TOO_LARGE', `A file can have at most ${bytesMax / 1024} KiB.`),
  folderFull: (filesMax: number, bytesMax: number) =>
    new AppError(
      'CONFLICT',
      `Your folder is full: it can have at most ${filesMax} files and ${bytesMax / 1024 / 1024} MiB.`,
      { hint: 'Delete files that you no longer need with workspace_delete_file.' },
    ),
  private: (path: string) =>
    new AppError(
      'CONFLICT',
      `The file ${path} is private to the requester, and a file that you write in a thread is shared.`,
      { hint: 'Choose another path.' },
    ),
  deleted: (path: string) =>
    new AppError('CONFLICT', `The file ${path} no longer exists.`, {
      hint: 'Leave out if_match to write it as a new file.',
    }),
  exists: (path: string) =>
    new AppError('CONFLICT', `The file ${path} already exists; nothing was written.`, {
      hint: rereadHint,
    }),
  changed: (path: string) =>
    new AppError('CONFLICT', `The file ${path} has changed since; nothing was written.`, {
      hint: rereadHint,
    }),
}

const rereadHint = 'Read it with workspace_read_file, and write with its etag as if_match.'
