/**
 * The content security policy of every page. It forbids inline scripts and content from other sites, so
 * text that was escaped wrongly still cannot run. The hub adds the headers that all answers have.
 */
export const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
} as const
