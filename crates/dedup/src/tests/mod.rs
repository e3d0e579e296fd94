mod golden;
mod oracle;
mod patterns;
mod suffix_array;
