/** A comment with its replies, in the order of the list. */
export type Branch<Comment> = Comment & { replies: Branch<Comment>[] }

interface Linked {
  id: string
  parentId: string | null
  deletedAt: number | null
  /** Set for a comment that a moderator removed. */
  removalReason: string | null
}

/**
 * Returns a list of comments as trees of replies. A comment whose parent is not in the list becomes
 * a root. A comment that its author deleted is left out when it has no replies; one that a moderator
 * removed stays.
 */
export function buildTree<Comment extends Linked>(list: Comment[]): Branch<Comment>[] {
  const branches = new Map(
    list.map((comment) => [comment.id, { ...comment, replies: [] as Branch<Comment>[] }]),
  )
  const roots: Branch<Comment>[] = []
  for (const branch of branches.values()) {
    const parent = branch.parentId === null ? undefined : branches.get(branch.parentId)
    const siblings = parent && parent !== branch ? parent.replies : roots
    siblings.push(branch)
  }
  return prune(roots)
}

function prune<Comment extends Linked>(branches: Branch<Comment>[]): Branch<Comment>[] {
  return branches
    .map((branch) => ({ ...branch, replies: prune(branch.replies) }))
    .filter(
      ({ deletedAt, removalReason, replies }) =>
        deletedAt === null || removalReason !== null || replies.length > 0,
    )
}
