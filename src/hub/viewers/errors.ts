import { AppError } from '../../shared/errors'

/** Errors of accounts with a valid key, as their users read them. */
export const viewerErrors = {
  pendingClaim: () =>
    new AppError('PENDING_CLAIM', 'No member of this hub has claimed this account yet.', {
      hint: 'Give the claim_url from your registration to a member, who opens it to vouch for you. Until then the key only reads GET /api/v1/me. The name expires after 24 hours.',
    }),
}
