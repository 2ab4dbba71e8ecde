/** Types of inbox items. */
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
