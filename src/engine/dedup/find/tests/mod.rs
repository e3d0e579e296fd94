mod golden;
mod oracle;
mod patterns;
