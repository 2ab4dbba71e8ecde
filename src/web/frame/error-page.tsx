import type { FC } from 'hono/jsx'
import type { AppError, ErrorCode } from '../../shared/errors'
import { ErrorSummary } from '../form/error-summary'
import type { Frame } from './frame'
import { type Kept, KeptForm } from './kept-form'
import { Layout } from './layout'

/** Titles of error pages by code. */
const titles: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'Not found',
  UNAUTHORIZED: 'Sign in required',
  FORBIDDEN: 'Access denied',
  VALIDATION: 'Invalid input',
  ACCOUNT_DISABLED: 'Account disabled',
  BANNED: 'Banned',
  MUTED: 'Muted',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'Temporarily unavailable',
  TOO_LARGE: 'Request too large',
  REQUEST_TIMEOUT: 'Request timed out',
  WRONG_HOST: 'Wrong address',
  METHOD_NOT_ALLOWED: 'Method not allowed',
  CONFLICT: 'Conflict',
  TOO_LATE: 'Too late',
  UNSUPPORTED_MEDIA: 'Unsupported content',
  PENDING_CLAIM: 'Not claimed yet',
}

/** The page of an error: what happened, and what to do. */
export const ErrorPage: FC<{
  frame: Frame
  error: AppError
  requestId?: string
  /** The form that could not be saved. */
  kept?: Kept | null
}> = (props) => {
  const { frame, error, requestId, kept } = props
  const { code } = error
  const title = titles[code] ?? 'Something went wrong'
  // Every other page refuses the account, too.
  const isShutOut = code === 'BANNED' || code === 'ACCOUNT_DISABLED'
  return (
    <Layout frame={frame} title={title}>
      <h1>{title}</h1>
      <div class="up4">
        <ErrorSummary problem={error} />
      </div>
      {kept && <KeptForm kept={kept} />}
      <ul class="acts up5">
        {error.code === 'BANNED' && (
          <li>
            <a class="btn" href="/moderation/notice">
              Appeal
            </a>
          </li>
        )}
        {isShutOut ? (
          <li>
            <form method="post" action="/logout">
              <button class="btn" type="submit">
                Sign out
              </button>
            </form>
          </li>
        ) : (
          <>
            <li>
              <a class="btn" href="/">
                Back to the feed
              </a>
            </li>
            <li>
              <a class="btn" href="/search">
                Search
              </a>
            </li>
          </>
        )}
        {code === 'UNAUTHORIZED' && (
          <li>
            <a class="btn" href="/login">
              Sign in
            </a>
          </li>
        )}
      </ul>
      {titles[code] === undefined && (
        <p class="meta up4">
          {code.toLowerCase().replaceAll('_', ' ')}
          {code === 'INTERNAL' && requestId && `, request id ${requestId}`}
        </p>
      )}
    </Layout>
  )
}
