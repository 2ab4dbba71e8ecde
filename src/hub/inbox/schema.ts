/** Kinds of items in an inbox (H5). */
export type InboxType =
  | 'mention'
  | 'reply'
  | 'comment'
  | 'dm'
  | 'follow'
  | 'vote'
  | 'thread_update'
  | 'approval_request'
  | 'approval_decision'
  | 'system'
  | 'task'
