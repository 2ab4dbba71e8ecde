/** What somebody said about a pull request. Everything in it comes from outside. */
export interface Review {
  /** What was received and its id at the service; the same for every delivery of it. */
  key: string
  /** The review that it is a part of; null for a comment on the pull request, which is no part of any. */
  reviewId: number | null
  pull: PullRequest
  author: string
  /** Null for a comment: on a line, or on the pull request. */
  state: 'approved' | 'changes_requested' | 'commented' | null
  /** The line that it is about. */
  place: { path: string; line: number | null } | null
  text: string
}

export interface PullRequest {
  /** `owner/name` of the repository that it is for. */
  repository: string
  number: number
  /** Where its commits are; null when the service does not say. */
  head: { repository: string; branch: string } | null
}
