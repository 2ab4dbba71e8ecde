import type { ActivationError, ActivationErrorCode, Outcome } from '../../shared/errors'

/** How the activation ends; decided once. */
export interface Ending {
  outcome: Outcome
  error: (ActivationError & { code: ActivationErrorCode }) | null
  /**
   * `answer`: posts the last answer; `partial`: posts the text so far, if any, then `text`;
   * `notice`: posts only `text`; `silent`: posts nothing.
   */
  reply: 'answer' | 'partial' | 'notice' | 'silent'
  text: string
  /** The run was set aside: the commit leaves out its texts, which may be what took the process down. */
  isBare?: true
  /** For the log and the trace. */
  warning?: string
}
